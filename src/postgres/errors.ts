import { statfsSync } from 'node:fs';
import { OperatorError } from '../errors/operator-error.ts';

/** The embedded database is not available. The message is for the operator and names the remedy. */
export class EmbeddedError extends OperatorError {
  override readonly name = 'EmbeddedError';
}

const diskFull = 'the disk is full: free some space and start again';
/** PostgreSQL needs room for a segment of its log to start. */
const walSegmentBytes = 16 * 1024 * 1024;

const remedies: readonly (readonly [RegExp, string])[] = [
  [/No space left on device|ENOSPC|disk quota exceeded/i, diskFull],
  [/Read-only file system|EROFS/i, 'the file system is read-only: choose another data directory'],
  [
    /could not look up effective user ID/i,
    'the user that Naru runs as has no entry in /etc/passwd, which initdb needs: run Naru as a user that has one (or as root), or set database.url',
  ],
  [
    /spawn\b.* EPERM/i,
    'Naru runs as root but may not change to another user, and PostgreSQL refuses root: start Naru as an ordinary user, or set database.url',
  ],
  [
    /Permission denied|EACCES|Operation not permitted|EPERM/i,
    'permission denied: see who owns the data directory',
  ],
  [
    /Cannot allocate memory|could not map anonymous shared memory|ENOMEM/i,
    'the machine has no memory left for PostgreSQL',
  ],
  [
    /initialized by PostgreSQL version/i,
    'the data directory belongs to another version of PostgreSQL: install that one',
  ],
];

/**
 * An error with what failed, the remedy where the output of PostgreSQL shows it, and the last lines
 * of that output. With `clusterDir` a full disk is found without the output too, since the log that
 * would show it is on the same disk.
 */
export function embeddedError(what: string, output: string, clusterDir: string | null = null): EmbeddedError {
  const remedy =
    remedies.find(([pattern]) => pattern.test(output))?.[1] ??
    (clusterDir !== null && freeBytes(clusterDir) < walSegmentBytes ? diskFull : undefined);
  const lines = output.trimEnd().split('\n').slice(-12);
  const reported = lines.map((line) => `  ${line}`).join('\n');
  return new EmbeddedError(
    `${what}${remedy === undefined ? '' : `: ${remedy}`}${reported.trim() === '' ? '' : `\n${reported}`}`,
  );
}

/** What the file system of a folder has left; infinite when it cannot be read. */
function freeBytes(dir: string): number {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** The code of a file system error (`ENOENT`, …); null for anything else. */
export function codeOf(thrown: unknown): string | null {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : null;
  return typeof code === 'string' ? code : null;
}

/** The message of anything thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
