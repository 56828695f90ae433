import type { Clock, Timer } from '../time/clock.ts';

/**
 * Calls `task` now and regularly, one call after the other; an error ends nothing. Returns how to
 * stop.
 */
export function repeat(clock: Clock, everyMs: number, task: () => Promise<void>): () => void {
  let isOver = false;
  let timer: Timer | null = null;
  const run = async (): Promise<void> => {
    await task().catch(() => {});
    if (!isOver) timer = clock.after(everyMs, () => void run());
  };
  void run();
  return () => {
    isOver = true;
    timer?.cancel();
  };
}
