// What the builds of the pages and of the program share: each runs once per content of its sources.
// The launcher runs it on the machine's own Node (18 or later); a build runs on the project's.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A file may change again, within this time, without a difference in what `stat` reports. */
const settledMs = 1000;

/**
 * The SHA-256 of the sources (files and folders below the root) and of the lockfile. It is stored
 * beside what `stat` reports of the files, which takes a quarter of the 50 ms of reading them.
 */
export function hashOf(root, sources) {
  const files = ['package-lock.json', ...sources.flatMap((source) => filesIn(root, source)).sort()];
  const { stamp, changedMs } = stampOf(root, files);
  const store = join(root, '.cache/hashes', sources[0].replaceAll('/', '-'));
  const stored = read(store);
  if (stored?.stamp === stamp) return stored.hash;
  const all = createHash('sha256');
  for (const file of files) all.update(`${file}\0`).update(readFileSync(join(root, file)));
  const hash = all.digest('hex');
  if (Date.now() - changedMs > settledMs) write(store, { stamp, hash });
  return hash;
}

/** The files of a folder and of the folders in it, or the file itself. */
function filesIn(root, path) {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => {
    const inside = `${path}/${entry.name}`;
    return entry.isDirectory() ? filesIn(root, inside) : [inside];
  });
}

/** A digest of what `stat` reports of the files, and when the last of them changed. */
function stampOf(root, files) {
  const stamp = createHash('sha256');
  let changedMs = 0;
  for (const file of files) {
    const { size, ino, mtimeMs, ctimeMs } = statSync(join(root, file));
    stamp.update(`${file} ${size} ${ino} ${mtimeMs} ${ctimeMs}\n`);
    changedMs = Math.max(changedMs, ctimeMs);
  }
  return { stamp: stamp.digest('hex'), changedMs };
}

function read(store) {
  try {
    return JSON.parse(readFileSync(store, 'utf8'));
  } catch {
    return null;
  }
}

/** Without it the files are read again, as in a folder that cannot be written. */
function write(store, value) {
  const next = `${store}.${process.pid}`;
  try {
    mkdirSync(dirname(store), { recursive: true });
    writeFileSync(next, JSON.stringify(value));
    renameSync(next, store);
  } catch {
    rmSync(next, { force: true });
  }
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
