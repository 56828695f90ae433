// What the builds of the pages and of the program share: each runs once per content of its sources.
// The launcher runs it on the machine's own Node (18 or later); a build runs on the project's.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The SHA-256 of the sources (files and folders below the root) and of the lockfile. */
export function hashOf(root, sources) {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  for (const source of sources) addTo(hash, root, source);
  return hash.digest('hex');
}

function addTo(hash, root, path) {
  const full = join(root, path);
  let names = null;
  try {
    names = readdirSync(full).sort();
  } catch (error) {
    if (error.code !== 'ENOTDIR') throw error;
  }
  if (names !== null) for (const name of names) addTo(hash, root, join(path, name));
  else hash.update(`${path}\0`).update(readFileSync(full));
}

/**
 * Runs a build and calls `onChild` with its process. Resolves with the end of what it printed if it
 * failed, else with null.
 */
export function runBuild(node, args, cwd, onChild) {
  const child = spawn(node, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  onChild(child);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text) => {
      printed = (printed + text).slice(-4000);
    });
  }
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) =>
      resolve(code === 0 ? null : printed.trim() || `the build ended with ${signal ?? code}`),
    );
  });
}
