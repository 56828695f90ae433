import { type Clock, within } from '../time/clock.ts';

/**
 * How long changes wait for one server of a cluster. Without them memory is stale after a second,
 * for all accounts.
 */
const maxDelayMs = 300;

/**
 * Waits for work at a server of a cluster, but not for long. `failed` is called when it takes longer
 * (it may still succeed then), and when it fails. Never rejects.
 */
export async function withoutDelay(
  clock: Clock,
  work: Promise<unknown>,
  failed: () => void,
  limitMs = maxDelayMs,
): Promise<void> {
  const done = work.then(() => true, failed);
  if ((await within(clock, limitMs, done, 'late')) === 'late') failed();
}
