import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder, and what is missing above it, each of mode `mode`; false when it was there. Throws what the file system says.
 * Node's `recursive` tries for ever where a folder is there and takes no other, as in `/proc`.
 */
export function makeFolder(path: string, mode = 0o777): boolean {
  try {
    return makeOne(path, mode);
  } catch (thrown) {
    const { code } = thrown as { readonly code?: unknown };
    if (code !== 'ENOENT' || dirname(path) === path) throw thrown;
  }
  makeFolder(dirname(path), mode);
  return makeOne(path, mode);
}

function makeOne(path: string, mode: number): boolean {
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (thrown) {
    if ((thrown as { readonly code?: unknown }).code !== 'EEXIST') throw thrown;
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return false;
    throw thrown;
  }
}
