import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createPayer } from '../../harness/payer.ts';
import { createSite, startNaru } from '../naru-process.ts';
import { attackKinds } from './attack-bodies.ts';
import { type GoalRun, type Outcome, outcome } from './goal.ts';
import { startHelper } from './helper.ts';
import { mainThreadMs, pause, peakRss, rssMib } from './stage.ts';

/** As much as the rate of one client allows. */
const attacksPerSecond = 30;
/** Below the rate of one client, which this one keeps to as well. */
const probeEveryMs = 40;
/** How long memory may take to be released. */
const backWithinMs = 30_000;

/** Of the requests of another client, beside any attack. */
const limitMs = 50;
/**
 * Where journal and database are: in memory, if there is such a file system. A response waits for an
 * fdatasync, and on an idle virtual disk 4 of 1,000 of those took 10 to 76 ms, which no attack caused.
 */
const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/**
 * One client sends costly bodies at its maximum rate: other clients get timely responses, and the
 * memory is released. Each attack is compared with the same bytes sent to a server that only
 * discards them: the cost to the host.
 */
export async function hostileBodies({ quick, print }: GoalRun): Promise<readonly Outcome[]> {
  const upstream = await startHelper('test/harness/fast-upstream.ts');
  const limited = { edge: { rate_limit: 'builtin' } };
  const site = createSite(`${upstream.first.replace('listening on ', '')}/whole/v1`, limited, 0, parent);
  const discard = await startHelper('test/chaos/goals/discard-child.ts');
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
    const beside = async (kind: string, port: number | string): Promise<UnderAttack> => {
      const attack = await startHelper(
        'test/chaos/goals/attack-child.ts',
        ...[String(port), attacker?.key ?? '', kind, String(attacksPerSecond), String(seconds), '127.0.0.2'],
      );
      const over = attack.next();
      attack.send('go');
      const before = mainThreadMs(naru.pid);
      const { peak, result } = await peakRss(naru.pid, () => latencies(probe, seconds * 1_000));
      const after = mainThreadMs(naru.pid);
      const ran = percent(after.ranMs - before.ranMs, seconds);
      const waited = percent(after.waitedMs - before.waitedMs, seconds);
      const counts = await over;
      await attack.end();
      return {
        times: result,
        peakMib: peak,
        counts,
        thread: `main thread ran ${ran}, waited for a processor ${waited}`,
      };
    };
    for (const kind of attackKinds) {
      print(`        attacking with ${kind}`);
      const machine = await beside(kind, discard.first);
      const { times, peakMib, counts, thread } = await beside(kind, naru.port);
      const faults = [
        ...(p99(times) <= limitMs ? [] : [`p99 is ${p99(times).toFixed(0)} ms`]),
        ...(times.every((ms) => ms < Number.POSITIVE_INFINITY) ? [] : ['a healthy request failed']),
        ...(peakMib < 2_048 ? [] : [`${peakMib} MiB resident`]),
      ];
      outcomes.push(
        outcome(
          `bodies: ${kind}`,
          `p99 of another client ≤ ${limitMs} ms, < 2 GiB`,
          `p99 ${p99(times).toFixed(0)} ms, worst ${Math.max(...times).toFixed(0)} ms of ${times.length} (p99 without attack ${p99(calm).toFixed(0)} ms; with the attack on a server that discards ${p99(machine.times).toFixed(0)} ms of ${machine.times.length}, ${machine.thread}); ${thread}; ${peakMib} MiB; attacker received ${counts}`,
          faults,
        ),
      );
    }
    const beganMs = performance.now();
    const enoughMib = beforeMib + 150;
    while (rssMib(naru.pid) > enoughMib && performance.now() - beganMs < backWithinMs) await pause(250);
    const afterMib = rssMib(naru.pid);
    const tookMs = performance.now() - beganMs;
    outcomes.push(
      outcome(
        'bodies: memory afterwards',
        `within 150 MiB of before in 30 s`,
        `${afterMib} MiB (before ${beforeMib}) after ${(tookMs / 1_000).toFixed(1)} s`,
        afterMib <= enoughMib ? [] : [`${afterMib} MiB are still resident`],
      ),
    );
    await naru.stop();
    return outcomes;
  } finally {
    await site.end();
    await upstream.end();
    await discard.end();
  }
}

/** What another client saw during an attack. */
interface UnderAttack {
  readonly times: readonly number[];
  readonly peakMib: number;
  /** The attacker's responses by status. */
  readonly counts: string;
  /** What the main thread did meanwhile. */
  readonly thread: string;
}

function percent(ms: number, seconds: number): string {
  return `${(ms / seconds / 10).toFixed(0)} %`;
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

/** How long a request took; infinite when it failed. */
async function timeOf(url: string, key: string): Promise<number> {
  const beganMs = performance.now();
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] }),
  }).catch(() => null);
  await response?.text().catch(() => null);
  return response?.status === 200 ? performance.now() - beganMs : Number.POSITIVE_INFINITY;
}

function p99(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
}
