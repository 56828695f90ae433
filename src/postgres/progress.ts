import type { Clock } from '../time/clock.ts';

/** Prints a line for the person who waits. */
export type Progress = (message: string) => void;

/**
 * Waits for `work`; when it takes longer than 1 s, prints `message`, and again every 10 s while it
 * continues.
 */
export async function reportWhenSlow<T>(
  work: Promise<T>,
  message: string,
  progress: Progress,
  clock: Clock,
): Promise<T> {
  const report = (text: string): void => {
    progress(text);
    timer = clock.after(10_000, () => report(`still ${message}`));
  };
  let timer = clock.after(1_000, () => report(message));
  try {
    return await work;
  } finally {
    timer.cancel();
  }
}
