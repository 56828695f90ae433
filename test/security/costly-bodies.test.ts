/**
 * What a body may cost the thread that all requests share: processor time, so that a busy host
 * changes little.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { silentLog } from '../../src/log/log.ts';
import { systemClock } from '../../src/time/clock.ts';
import { JsonGuard } from '../../src/wire/json-guard.ts';
import { JsonParser } from '../../src/wire/json-parser.ts';
import { attackBody, attackKinds } from '../chaos/goals/attack-bodies.ts';
import { scaledLimit } from '../harness/time-limit.ts';

const parser = new JsonParser({ clock: systemClock, log: silentLog });
after(() => parser.close());
const { signal } = new AbortController();

/** Why the guard rejects a kind of body; the others are parsed. */
const faults: Readonly<Record<string, string>> = {
  'distinct names': 'too_many_shapes',
  'escaped quotes': 'too_many_escapes',
  'lone surrogates': 'too_many_escapes',
};
/** From this cost on a body must be parsed in the thread. */
const costlyMs = 40;
/**
 * What may remain here of such a cost. One long text is copied out of the thread, at up to half of
 * it; a body that is parsed here costs all of it.
 */
const maxShareHere = 0.75;

/** Milliseconds of this thread's processor since it was `since`. */
function cpuMs(since = { user: 0, system: 0 }): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system - since.user - since.system) / 1_000;
}

/** What a body costs this thread: in the guard, piece by piece, and then at once, to be parsed. */
async function costOf(bytes: Buffer): Promise<{ guardMs: number; atOnceMs: number; fault: string | null }> {
  const began = process.threadCpuUsage();
  const guard = new JsonGuard();
  let fault: string | null = null;
  for (let at = 0; at < bytes.length && fault === null; at += 65_536)
    fault = guard.push(bytes.subarray(at, at + 65_536));
  const guardMs = cpuMs(began);
  if (fault !== null) return { guardMs, atOnceMs: 0, fault };
  const parsing = process.threadCpuUsage();
  await parser.parse({ blocks: [bytes], length: bytes.length, parseMs: guard.parseMs }, 'client', signal);
  return { guardMs, atOnceMs: cpuMs(parsing), fault };
}

/** What the body would cost this thread without the parser, milliseconds. */
function plainCostOf(bytes: Buffer): number {
  const costs = Array.from({ length: 3 }, () => {
    const began = process.threadCpuUsage();
    JSON.parse(bytes.toString('utf8'));
    return cpuMs(began);
  });
  return Math.min(...costs);
}

for (const kind of attackKinds.filter((one) => one !== 'one-byte chunks')) {
  test(`a body of ${kind} costs other clients little`, async (t) => {
    // The first one starts the thread.
    await parser.parse({ blocks: [Buffer.from('1')], length: 1, parseMs: 1_000 }, 'client', signal);
    const { bytes } = attackBody(kind);
    const costs = [];
    // The parser keeps what it is given.
    for (let n = 0; n < 3; n += 1) costs.push(await costOf(Buffer.from(bytes)));
    const guardMs = Math.min(...costs.map((cost) => cost.guardMs));
    const atOnceMs = Math.min(...costs.map((cost) => cost.atOnceMs));
    t.diagnostic(`guard ${guardMs.toFixed(1)} ms, at once ${atOnceMs.toFixed(1)} ms, ${costs[0]?.fault}`);
    assert.equal(costs[0]?.fault, faults[kind] ?? null);
    const plainMs = plainCostOf(bytes);
    if (plainMs > costlyMs)
      assert.ok(atOnceMs < plainMs * maxShareHere, `${atOnceMs} ms at once, ${plainMs} without the thread`);
    assert.ok(atOnceMs < scaledLimit(50), `${atOnceMs} ms at once`);
    assert.ok(guardMs < scaledLimit(300), `${guardMs} ms in the guard`);
  });
}
