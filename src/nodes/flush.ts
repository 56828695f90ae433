import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import { confirmFlush, type FlushState, readFlush, requestFlush } from './flush-sql.ts';

const lookEveryMs = 50;

/** The result of a flush of all nodes. */
export interface Flushed {
  readonly isDone: readonly FlushState[];
  /** They are alive and did not flush in time. */
  readonly silent: readonly FlushState[];
  /** They are registered and lost: their journals may hold what they acknowledged. */
  readonly lost: readonly FlushState[];
}

/**
 * Requests that every node brings into the database what it has settled, and waits until each has
 * done so or is lost, for `limitMs` at most. The nodes of `settledHomes` are not waited for: the
 * caller has settled their journals.
 */
export async function flushNodes(
  database: Database,
  clock: Clock,
  { limitMs, settledHomes }: { readonly limitMs: number; readonly settledHomes: readonly string[] },
): Promise<Flushed> {
  const request = await requestFlush(database);
  for (const home of settledHomes) await confirmFlush(database, request, home);
  const endMs = clock.monotonic() + limitMs;
  for (;;) {
    const states = await readFlush(database, request);
    const silent = states.filter(({ lives, isDone }) => lives && !isDone);
    if (silent.length === 0 || clock.monotonic() >= endMs)
      return {
        isDone: states.filter(({ isDone }) => isDone),
        silent,
        lost: states.filter(({ lives, isDone }) => !lives && !isDone),
      };
    await new Promise<void>((resolve) => clock.after(lookEveryMs, resolve));
  }
}
