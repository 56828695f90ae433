import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createPayer } from '../../harness/payer.ts';
import { createSite, startNaru } from '../naru-process.ts';
import { attackKinds } from './attack-bodies.ts';
import { type GoalRun, type Outcome, outcome } from './goal.ts';
import { startHelper } from './helper.ts';
import { pause, peakRss, rssMib } from './stage.ts';

/** As much as the rate of one client allows. */
const attacksPerSecond = 30;
/** Below the rate of one client, which this one keeps to as well. */
const probeEveryMs = 40;
/** With a budget of 1 GiB, copies that are not counted and garbage. */
const maxMib = 2_048;
/** What the engine may keep of its garbage. */
const keptMib = 1_024;
const backWithinMs = 30_000;

/**
 * Where journal and database are: in memory, if there is such a file system. A response waits for an
 * fdatasync, and on an idle virtual disk 4 of 1,000 of those took 10 to 76 ms, which no attack caused.
 */
const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/**
 * One client sends costly bodies at its maximum rate, with a key and without: the memory of requests
 * stays within its budget, no request of another client fails, and afterwards all is as before.
 */
export async function hostileBodies({ quick, print }: GoalRun): Promise<readonly Outcome[]> {
  const upstream = await startHelper('test/harness/fast-upstream.ts');
  const limited = { edge: { rate_limit: 'builtin' } };
  const site = createSite(`${upstream.first.replace('listening on ', '')}/whole/v1`, limited, 0, parent);
  const seconds = quick ? 5 : 10;
  try {
    const naru = await startNaru(site);
    const ledger = await site.openAccounting();
    const payer = await createPayer(ledger.operator, '1000000000', 2);
    await ledger.close();
    const [attacker, healthy] = payer.keys;
    const probe = (): Promise<number> => timeOf(naru.url, healthy?.key ?? '');
    for (let n = 0; n < 20; n += 1) await probe();
    const calm = await latencies(probe, 3_000);
    const beforeMib = rssMib(naru.pid);
    const outcomes: Outcome[] = [];
    const attacks = [
      ...attackKinds.map((kind) => ({ kind, key: attacker?.key ?? '' })),
      ...['one long text', 'one-byte chunks'].map((kind) => ({ kind, key: 'none' })),
    ];
    for (const { kind, key } of attacks) {
      const name = key === 'none' ? `${kind}, without a key` : kind;
      print(`        attacking with ${name}`);
      const attack = await startHelper(
        'test/chaos/goals/attack-child.ts',
        ...[String(naru.port), key, kind, String(attacksPerSecond), String(seconds), '127.0.0.2'],
      );
      const over = attack.next();
      attack.send('go');
      const { peak, result: times } = await peakRss(naru.pid, () => latencies(probe, seconds * 1_000));
      const counts = await over;
      await attack.end();
      const faults = [
        ...(times.every((ms) => ms < Number.POSITIVE_INFINITY) ? [] : ['a healthy request failed']),
        ...(peak < maxMib ? [] : [`${peak} MiB resident`]),
      ];
      const found = `${times.length} requests, p99 ${p99(times).toFixed(0)} ms (${p99(calm).toFixed(0)} without attack); ${peak} MiB; attacker received ${counts}`;
      outcomes.push(outcome(`bodies: ${name}`, `others are served, < ${maxMib} MiB resident`, found, faults));
    }
    const beganMs = performance.now();
    const isBack = async (): Promise<boolean> =>
      p50(await latencies(probe, 1_000)) <= 1.5 * p50(calm) + 1 && rssMib(naru.pid) < beforeMib + keptMib;
    let back = await isBack();
    while (!back && performance.now() - beganMs < backWithinMs) back = await isBack();
    const tookMs = performance.now() - beganMs;
    outcomes.push(
      outcome(
        'bodies: afterwards',
        `latency as before, and memory within ${keptMib} MiB of before, in 30 s`,
        `${back ? 'as before' : 'not yet'} after ${(tookMs / 1_000).toFixed(1)} s, ${rssMib(naru.pid)} MiB (before ${beforeMib})`,
        back ? [] : ['it is not as before'],
      ),
    );
    await naru.stop();
    return outcomes;
  } finally {
    await site.end();
    await upstream.end();
  }
}

/** Milliseconds of requests, one every 40 ms at the earliest, one after another. */
async function latencies(probe: () => Promise<number>, forMs: number): Promise<readonly number[]> {
  const endMs = performance.now() + forMs;
  const times: number[] = [];
  while (performance.now() < endMs) {
    const ms = await probe();
    times.push(ms);
    await pause(Math.max(1, probeEveryMs - ms));
  }
  return times;
}

/** So long that it is parsed in the thread, as those of the attacker. */
const body =
  JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] }) + ' '.repeat(70_000);

/** How long a request took; infinite when it failed. */
async function timeOf(url: string, key: string): Promise<number> {
  const beganMs = performance.now();
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body,
  }).catch(() => null);
  await response?.text().catch(() => null);
  return response?.status === 200 ? performance.now() - beganMs : Number.POSITIVE_INFINITY;
}

function p50(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

function p99(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
}
