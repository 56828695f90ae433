import type { Clock } from '../time/clock.ts';
import type { LogSink } from './log.ts';

/**
 * Lines are buffered this long: one write per request would cost a tenth of the request. A crash
 * loses as much.
 */
const gatherMs = 20;
const maxLength = 64 * 1024;

/** A sink that buffers lines; `flush` writes them. */
export function batchedSink(
  write: (text: string) => void,
  clock: Clock,
): { readonly sink: LogSink; readonly flush: () => void } {
  let gathered = '';
  let isWaiting = false;
  const flush = (): void => {
    isWaiting = false;
    if (gathered === '') return;
    const text = gathered;
    gathered = '';
    write(text);
  };
  const sink: LogSink = (line) => {
    gathered += line;
    if (gathered.length > maxLength) flush();
    else if (!isWaiting) {
      isWaiting = true;
      clock.after(gatherMs, flush);
    }
  };
  return { sink, flush };
}
