import { randomUUID } from 'node:crypto';
import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { syncDir } from '../store/sync-dir.ts';

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The identity of a data directory, made at its first use and durable when it is returned. A node
 * that starts in it finds its registered predecessor by this identity. The caller holds the lock of
 * the directory.
 */
export function nodeDir(dataDir: string): string {
  const file = join(dataDir, 'node-id');
  const known = readOr(file, '').trim();
  if (uuidForm.test(known)) return known;
  const fresh = randomUUID();
  // A new file, or an error: never write through a link that another user put there.
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  const opened = openSync(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
  try {
    writeSync(opened, `${fresh}\n`);
    // The segments of the journal name it: after a loss of power another identity would be made, and
    // every segment would be of another node.
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
  syncDir(dataDir);
  return fresh;
}

function readOr(file: string, otherwise: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return otherwise;
    throw error;
  }
}
