// Builds the dashboard and the console once per content. The launcher runs it on the machine's own
// Node (18 or later); the build itself runs on the project's.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a build depends on, below `web/`. */
const sources = ['src', 'entries', 'fonts', 'build.ts', 'vite.ts', 'package.json'];

/**
 * Whether `web/dist` is the build of the present sources. A release that carries only the build
 * needs none.
 */
export function arePagesBuilt(root) {
  if (!existsSync(join(root, 'web/src'))) return true;
  try {
    return JSON.parse(readFileSync(join(root, 'web/dist/build.json'), 'utf8')).hash === hashOfPages(root);
  } catch {
    return false;
  }
}

/**
 * Builds the pages into a new folder and then replaces `web/dist`, so that no server reads a half
 * written one. Calls `onChild` with the process. Resolves with the error message, or null.
 */
export async function buildPages(root, node, onChild = () => {}) {
  const dist = join(root, 'web/dist');
  const next = `${dist}.${process.pid}`;
  const hash = hashOfPages(root);
  try {
    mkdirSync(next, { recursive: true });
    const trouble = await run(node, [join(root, 'web/build.ts'), next], root, onChild);
    if (trouble !== null) return trouble;
    writeFileSync(join(next, 'build.json'), `${JSON.stringify({ hash })}\n`);
    const old = `${dist}.old.${process.pid}`;
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(next, dist);
    rmSync(old, { recursive: true, force: true });
    return null;
  } catch (error) {
    return error.message;
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

/** The SHA-256 of all sources and of the lockfile. */
function hashOfPages(root) {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  for (const source of sources) addTo(hash, root, join('web', source));
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

/** Runs the build; resolves with the end of what it printed if it failed. */
function run(node, args, cwd, onChild) {
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
