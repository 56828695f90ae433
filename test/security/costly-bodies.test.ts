/**
 * What a body may cost the thread that all requests share: processor time, so that a busy host
 * changes little.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { anthropicDialect } from '../../src/dialects/anthropic/index.ts';
import { bedrockDialect } from '../../src/dialects/bedrock/index.ts';
import { googleDialect } from '../../src/dialects/google/index.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { silentLog } from '../../src/log/log.ts';
import { systemClock } from '../../src/time/clock.ts';
import { JsonGuard } from '../../src/wire/json-guard.ts';
import { JsonParser } from '../../src/wire/json-parser.ts';
import { maxima } from '../../src/wire/maxima.ts';
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

const access = { baseUrl: 'https://upstream.test', apiKey: 'x', headers: {} };
const aws = { region: 'us-east-1', accessKeyId: '', secretAccessKey: '', sessionToken: '' };
const dialects = [anthropicDialect(access), googleDialect(access), bedrockDialect({ ...access, ...aws })];
const to = { model: 'claude-sonnet-4-5', modelId: 'a/b', supportedParameters: null } as const;
const destination = {
  ...to,
  maxCompletionTokens: null,
  variant: 'generic',
  overrides: {},
  price: {},
} as const;
const list = <T>(length: number, item: (n: number) => T): T[] => Array.from({ length }, (_, n) => item(n));
const callOf = (id: string, args: string) => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: args },
});
const sealed = { type: 'reasoning.encrypted', data: 'x', format: null };
/** Milliseconds of the processor; 10 to 70 are needed, and arguments that are parsed take 850. */
const maxTranslateMs = 400;
/** The largest conversations that are accepted, each of what a translator might compare. */
const conversations: Readonly<Record<string, readonly object[]>> = {
  instructions: list(maxima.messages - 1, () => ({ role: 'system', content: 'x' })),
  'reasoning of calls': [
    {
      role: 'assistant',
      tool_calls: list(maxima.toolCalls, (n) => callOf(`call ${n}`, '{}')),
      reasoning_details: list(15_000, (n) => ({ ...sealed, id: `detail ${n}` })),
    },
  ],
  'arguments of small values': list(32, (n) => ({
    role: 'assistant',
    tool_calls: [callOf(`call ${n}`, `{"a":[${'{},'.repeat(240_000)}{}]}`)],
  })),
  'deep arguments': [
    {
      role: 'assistant',
      tool_calls: [callOf('call', `{"a":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`)],
    },
  ],
};

for (const [name, messages] of Object.entries(conversations))
  test(`a conversation of ${name} is translated in time that is linear in its length`, async (t) => {
    const body = { model: 'a/b', messages: [...messages, { role: 'user', content: 'x' }] };
    const bytes = Buffer.from(JSON.stringify(body));
    assert.equal(new JsonGuard().push(bytes), null, 'it is accepted');
    const request = parseCompletionRequest('chat', bytes, null);
    for (const dialect of dialects) {
      const small = { ...request, input: [{ role: 'user', content: 'x' }] };
      await dialect.encode(small, destination); // loads the package
      const began = process.threadCpuUsage();
      await dialect.encode(request, destination);
      const ms = cpuMs(began);
      t.diagnostic(`${dialect.name}: ${ms.toFixed(0)} ms`);
      assert.ok(ms < maxTranslateMs, `${dialect.name}: ${ms} ms`);
    }
  });
