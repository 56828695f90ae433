import type { LogSink } from '../../log/log.ts';
import type { Clock } from '../../time/clock.ts';

/** Lines gather this long: one write a request costs a tenth of what the request itself does. A crash loses as much. */
const gatherMs = 20;
const maxLength = 64 * 1024;

/** A sink that writes lines together; `flush` writes what has gathered. */
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
