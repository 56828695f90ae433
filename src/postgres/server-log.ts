import { closeSync, openSync, readSync, renameSync, statSync } from 'node:fs';

const maxLogBytes = 8 * 1024 * 1024;

/** Keeps the log small: beyond 8 MiB it becomes `.1`, and the `.1` before it goes. Done when Naru starts. */
export function rotateLog(path: string): void {
  if (sizeOf(path) > maxLogBytes) renameSync(path, `${path}.1`);
}

/** The size of a file, bytes; 0 when it is not there. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** What a file holds from `offset` on, at most the last 16 KiB of it; nothing when it is not there, since whoever asks has worse to tell. */
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
