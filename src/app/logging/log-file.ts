import { closeSync, constants, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { escapeControls, type LogSink } from '../../log/log.ts';

/** Beyond this the log becomes `naru.log.1`, and the one before that is gone. */
const maxFileBytes = 16 * 1024 * 1024;

/** A link that somebody laid there is not written through. */
const appendHere = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/** A log in a file, for a server that a person watches. */
export interface LogFile {
  readonly path: string;
  readonly sink: LogSink;
  close(): void;
}

/**
 * Opens `<dataDir>/naru.log`. Warnings and errors are also told by `tell`, in one line that a person can read. Lines are written
 * at once, so that none is lost with the process; a line that cannot be written is dropped, for serving matters more.
 */
export function openLogFile(
  dataDir: string,
  report: (line: string) => void,
  limitBytes = maxFileBytes,
): LogFile {
  const path = join(dataDir, 'naru.log');
  let file: number | null = openSync(path, appendHere, 0o600);
  let bytes = fstatSync(file).size;
  // The old file is closed last: its number may be another file's or a socket's in the next moment.
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
        // The disk is full, say. The settlements' journal tells of it in a louder voice.
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

/** A warning or an error in words, such as `warn: slot.failed (slot demo, reason …)`; null for what is only of record. */
function printable(line: string): string | null {
  if (!/"level":"(?:warn|error)"/.test(line)) return null;
  const { at: _at, level, event, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const message = Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${String(value).split('\n')[0]?.slice(0, 200)}`);
  return escapeControls(`${level}: ${event}${message.length === 0 ? '' : ` (${message.join(', ')})`}`);
}
