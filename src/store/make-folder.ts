import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder, and its missing parents, each with mode `mode`; false when it existed. Throws
 * what the file system throws. Node's `recursive` retries without end in a folder that exists and
 * takes no other, as in `/proc`.
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
