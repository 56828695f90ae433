import { systemClock } from '../time/clock.ts';
import { batchedSink } from './batched-sink.ts';
import { createLog, type Log, type LogLevel, type LogSink } from './log.ts';
import { openLogFile } from './log-file.ts';

/** The process whose log it is. */
export interface LogProcess {
  /** Whether stderr is a terminal. */
  readonly isWatched: boolean;
  readonly err: (text: string) => void;
}

/** Reports an event of a server to its operator, in words. */
export type Notice = (event: string, message: string, level?: LogLevel) => void;

/** Prints notices on stderr: text on a terminal, otherwise log lines. */
export function noticesOf({ isWatched, err }: LogProcess): Notice {
  if (isWatched) return (_event, message) => err(`naru: ${message}\n`);
  const log = createLog(err, 'info', systemClock.now);
  return (event, message, level = 'info') => log[level](event, { message });
}

/** The log of a server. */
export interface ServerLog {
  readonly log: Log;
  readonly sink: LogSink;
  /** Writes the buffered lines. */
  readonly flush: () => void;
  /** Where the log is written, unless to stderr. */
  readonly note: string | null;
  readonly close: () => void;
}

/**
 * Opens the log. With a terminal on stderr, warnings and errors are printed as text and everything
 * goes to a file; otherwise stderr gets every line as JSON.
 */
export function openServerLog(
  proc: LogProcess,
  place: { readonly dataDir: string; readonly level: LogLevel; readonly notice: Notice },
): ServerLog {
  const output = openSink(proc, place);
  return { ...output, log: createLog(output.sink, place.level, systemClock.now) };
}

function openSink(
  proc: LogProcess,
  { dataDir, notice }: { readonly dataDir: string; readonly notice: Notice },
): Omit<ServerLog, 'log'> {
  if (!proc.isWatched) {
    const { sink, flush } = batchedSink(proc.err, systemClock);
    return { sink, flush, note: null, close: flush };
  }
  const { path, sink, close } = openLogFile(dataDir, (line) => notice('log', line));
  return { sink, flush: () => {}, note: `requests are logged to ${path}; press Ctrl-C to stop`, close };
}
