import { closeSync, constants, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { escapeControls, type LogSink } from './log.ts';

/** Beyond this size the log is rotated to `naru.log.1`, which is replaced. */
const maxFileBytes = 16 * 1024 * 1024;

/** Never writes through a symbolic link that another user planted. */
const appendHere = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/** A log file, for a server in a terminal. */
export interface LogFile {
  readonly path: string;
  readonly sink: LogSink;
  close(): void;
}

/**
 * Opens `<dataDir>/naru.log`. Warnings and errors are also printed with `tell`, as one readable
 * line. Lines are written immediately, so that a crash loses none; a line that cannot be written is
 * dropped, since serving matters more.
 */
export function openLogFile(
  dataDir: string,
  report: (line: string) => void,
  limitBytes = maxFileBytes,
): LogFile {
  const path = join(dataDir, 'naru.log');
  let file: number | null = openSync(path, appendHere, 0o600);
  let bytes = fstatSync(file).size;
  // Closes the old file last: its descriptor may be reused immediately.
  const rotate = (old: number): number => {
    let next: number | null = null;
    try {
      next = openSync(`${path}.new`, appendHere, 0o600);
      renameSync(path, `${path}.1`);
      renameSync(`${path}.new`, path);
    } catch {
      if (next !== null) closeSync(next);
      return old;
    }
    closeSync(old);
    bytes = 0;
    return next;
  };
  const write = (line: string): void => {
    if (file === null) return;
    if (bytes > limitBytes) file = rotate(file);
    bytes += writeSync(file, line);
  };
  return {
    path,
    sink(line) {
      try {
        write(line);
      } catch {
        // For example a full disk, which the journal reports as well.
      }
      const reported = printable(line);
      if (reported !== null) report(reported);
    },
    close() {
      if (file !== null) closeSync(file);
      file = null;
    },
  };
}

/**
 * A warning or an error as text, such as `warn: slot.failed (slot demo, reason …)`; null for lower
 * levels.
 */
function printable(line: string): string | null {
  if (!/"level":"(?:warn|error)"/.test(line)) return null;
  const { at: _at, level, event, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const message = Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${String(value).split('\n')[0]?.slice(0, 200)}`);
  return escapeControls(`${level}: ${event}${message.length === 0 ? '' : ` (${message.join(', ')})`}`);
}
