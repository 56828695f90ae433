import { scaledLimit } from './time-limit.ts';

/**
 * How often a condition is looked at: after a tenth of the time that has passed, within these
 * bounds. A look may be a request, or read a whole ledger.
 */
const minPauseMs = 10;
const maxPauseMs = 50;

/**
 * Waits until `holds` does; fails after `limitMs`, which allows for a busy machine (`scaledLimit`).
 * Returns the duration, milliseconds.
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  limitMs = 10_000,
): Promise<number> {
  const beganMs = performance.now();
  await eventually(what, limitMs, async () => ((await holds()) ? true : null));
  return performance.now() - beganMs;
}

/** Calls `look` until it returns something other than null; fails as `until` does. */
export async function eventually<T>(
  what: string,
  limitMs: number,
  look: () => Promise<T | null> | T | null,
): Promise<T> {
  const beganMs = performance.now();
  for (;;) {
    const seen = await look();
    if (seen !== null) return seen;
    const waitedMs = performance.now() - beganMs;
    if (waitedMs > scaledLimit(limitMs)) throw new Error(`not within ${limitMs} ms: ${what}`);
    const pauseMs = Math.min(maxPauseMs, Math.max(minPauseMs, waitedMs / 10));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/**
 * Calls `work` until it does not throw; fails as `until` does, with the last error as the cause.
 */
export async function untilSucceeds<T>(
  what: string,
  limitMs: number,
  work: () => T | Promise<T>,
): Promise<T> {
  let last: unknown;
  const tried = async (): Promise<{ readonly value: T } | null> => {
    try {
      return { value: await work() };
    } catch (thrown) {
      last = thrown;
      return null;
    }
  };
  try {
    return (await eventually(what, limitMs, tried)).value;
  } catch (late) {
    throw new Error(String(late), { cause: last });
  }
}
