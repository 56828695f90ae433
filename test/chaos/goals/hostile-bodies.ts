import { createPayer, createSite, startNaru } from '../naru-process.ts';
import { attackKinds } from './attack-bodies.ts';
import { type GoalRun, type Outcome, outcome } from './goal.ts';
import { startHelper } from './helper.ts';
import { pause, peakRss, rssMib } from './stage.ts';

/** As much as the rate of one client allows. */
const attacksPerSecond = 30;
/** Below the rate of one client, which this one keeps to as well. */
const probeEveryMs = 40;
/** How long memory may take to be back. */
const backWithinMs = 30_000;

/** One client sends bodies that are made to cost much, as often as it may: others are answered in time, and memory is back. */
export async function hostileBodies({ quick }: GoalRun): Promise<readonly Outcome[]> {
  const upstream = await startHelper('test/harness/fast-upstream.ts');
  const site = createSite(`${upstream.first.replace('listening on ', '')}/whole/v1`, {
    edge: { rate_limit: 'builtin' },
  });
  const seconds = quick ? 3 : 10;
  try {
    const naru = await startNaru(site);
    const books = await site.openBooks();
    const payer = await createPayer(books.office, '1000000000', 2);
    await books.close();
    const [attacker, healthy] = payer.keys;
    const probe = (): Promise<number> => timeOf(naru.url, healthy?.key ?? '');
    for (let n = 0; n < 20; n += 1) await probe();
    const calm = await latencies(probe, 3_000);
    const beforeMib = rssMib(naru.pid);
    const outcomes: Outcome[] = [];
    for (const kind of attackKinds) {
      const attack = await startHelper(
        'test/chaos/goals/attack-child.ts',
        ...[
          String(naru.port),
          attacker?.key ?? '',
          kind,
          String(attacksPerSecond),
          String(seconds),
          '127.0.0.2',
        ],
      );
      let counts = '';
      const over = attack.next().then((line) => {
        counts = line;
      });
      attack.say('go');
      const { peak, result } = await peakRss(naru.pid, () => latencies(probe, seconds * 1_000));
      await over;
      await attack.end();
      const limitMs = Math.max(50, 5 * p99(calm));
      const faults = [
        ...(p99(result) <= limitMs ? [] : [`p99 is ${p99(result).toFixed(0)} ms`]),
        ...(result.every((ms) => ms < Number.POSITIVE_INFINITY) ? [] : ['a healthy request failed']),
        ...(peak < 2_048 ? [] : [`${peak} MiB resident`]),
      ];
      outcomes.push(
        outcome(
          `bodies: ${kind}`,
          `p99 of another client ≤ ${limitMs.toFixed(0)} ms (calm ${p99(calm).toFixed(0)} ms), < 2 GiB`,
          `p99 ${p99(result).toFixed(0)} ms, worst ${Math.max(...result).toFixed(0)} ms of ${result.length}; ${peak} MiB; attacker saw ${counts}`,
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
