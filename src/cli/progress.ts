import { systemClock, type Timer } from '../time/clock.ts';
import type { CliContext } from './context.ts';

/**
 * Prints on stderr what a command does: on a terminal from the third second on, in one line;
 * otherwise, or where `TERM` is `dumb`, a line every ten seconds (spec:operator/1.26). An empty
 * step is not printed; null ends it.
 */
export function createProgress({
  env,
  isWatched,
  err,
}: Pick<CliContext, 'env' | 'isWatched' | 'err'>): (step: string | null) => void {
  const redraws = isWatched && env['TERM'] !== 'dumb';
  let shown: string | null = null;
  let beganMs = 0;
  let timer: Timer | null = null;
  let isDrawn = false;
  const show = (): void => {
    timer = systemClock.after(redraws ? 1_000 : 10_000, show);
    if (shown === '') return;
    const took = `${shown}, ${Math.round((systemClock.monotonic() - beganMs) / 1000)} s`;
    err(redraws ? `\r${took}\x1b[K` : `naru: ${took}\n`);
    isDrawn = redraws;
  };
  return (step) => {
    shown = step;
    if (step === null) {
      timer?.cancel();
      timer = null;
      if (isDrawn) err('\r\x1b[K');
      isDrawn = false;
    } else if (timer === null) {
      beganMs = systemClock.monotonic();
      timer = systemClock.after(redraws ? 2_000 : 10_000, show);
    }
  };
}
