// Bundles the program (src/main.ts and what it starts) once per content. The launcher runs it on the
// machine's own Node (18 or later); the build itself runs on the project's.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hashOf, runBuild } from './build-once.mjs';

/** What a build depends on. */
const sources = ['src', 'demo-engine', 'scripts/bundle.ts', 'package.json'];
/** The newest builds stay, and those that a process runs: a server loads some parts late. */
const keptBuilds = 3;

/** Whether the root is an installed release: it has a bundle instead of sources and a lockfile. */
export function isRelease(root) {
  return !existsSync(join(root, 'package-lock.json'));
}

/** The bundle of the present sources, or of the release; null when it is not built. */
export function programOf(root) {
  const file = join(isRelease(root) ? join(root, 'program') : folderOf(root), 'main.cjs');
  return existsSync(file) ? file : null;
}

/**
 * Builds the bundle of the present sources unless it is built, and removes old ones. Calls `onChild`
 * with the process. Resolves with the error message, or null.
 */
export async function buildProgram(root, node, onChild = () => {}) {
  if (programOf(root) !== null) return null;
  const folder = folderOf(root);
  const next = `${folder}.${process.pid}`;
  try {
    mkdirSync(next, { recursive: true });
    const trouble = await runBuild(node, [join(root, 'scripts/bundle.ts'), next], root, onChild);
    if (trouble !== null) return trouble;
    // Another process may have built the same meanwhile.
    if (programOf(root) === null) renameSync(next, folder);
    removeOldBuilds(dirname(folder));
    return null;
  } catch (error) {
    return error.message;
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

/** The folder of the bundle of the present sources. */
function folderOf(root) {
  return join(root, '.cache/program', hashOf(root, sources).slice(0, 16));
}

/** Removes the builds that are neither new nor in use; none where processes cannot be listed. */
export function removeOldBuilds(home) {
  const { status, stdout } = spawnSync('ps', ['-axww', '-o', 'args='], { encoding: 'utf8' });
  if (status !== 0) return;
  const old = readdirSync(home)
    .map((name) => join(home, name))
    .map((folder) => ({ folder, builtMs: statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((one, other) => other.builtMs - one.builtMs)
    .slice(keptBuilds)
    .filter(({ folder }) => !stdout.includes(folder));
  for (const { folder } of old) rmSync(folder, { recursive: true, force: true });
}
