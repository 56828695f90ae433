import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes the names inside a folder durable. */
export function syncDir(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
