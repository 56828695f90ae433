import { closeSync, openSync, readSync, renameSync, statSync } from 'node:fs';

const maxLogBytes = 8 * 1024 * 1024;

/**
 * Limits the size of the log: beyond 8 MiB it becomes `.1`, and the earlier `.1` is deleted. Done
 * when Naru starts.
 */
export function rotateLog(path: string): void {
  if (sizeOf(path) > maxLogBytes) renameSync(path, `${path}.1`);
}

/** The size of a file, bytes; 0 when it is not there. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * The contents of a file from `offset` on, at most the last 16 KiB; empty when it is not there,
 * since the caller reports another error.
 */
export function readFrom(path: string, offset: number): string {
  const from = Math.max(offset, sizeOf(path) - 16_384);
  const buffer = Buffer.alloc(16_384);
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return '';
  }
  try {
    return buffer.toString('utf8', 0, readSync(fd, buffer, 0, buffer.length, from));
  } finally {
    closeSync(fd);
  }
}
