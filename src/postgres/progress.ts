import type { Clock } from '../time/clock.ts';

/** Says a line to the person who waits. */
export type Progress = (message: string) => void;

/** Waits for `work`; when it takes longer than 1 s, says `message`, and again every 10 s while it goes on. */
export async function sayWhenSlow<T>(
  work: Promise<T>,
  message: string,
  progress: Progress,
  clock: Clock,
): Promise<T> {
  const say = (text: string): void => {
    progress(text);
    timer = clock.after(10_000, () => say(`still ${message}`));
  };
  let timer = clock.after(1_000, () => say(message));
  try {
    return await work;
  } finally {
    timer.cancel();
  }
}
