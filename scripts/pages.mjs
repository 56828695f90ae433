// Builds the dashboard and the console once per content. The launcher runs it on the machine's own
// Node (18 or later); the build itself runs on the project's.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashOf, runBuild } from './build-once.mjs';

/** What a build depends on. */
const sources = ['src', 'entries', 'fonts', 'build.ts', 'vite.ts', 'package.json'].map((name) =>
  join('web', name),
);

/**
 * Whether `web/dist` is the build of the present sources. A release that carries only the build
 * needs none.
 */
export function arePagesBuilt(root) {
  if (!existsSync(join(root, 'web/src'))) return true;
  try {
    return JSON.parse(readFileSync(join(root, 'web/dist/build.json'), 'utf8')).hash === hashOf(root, sources);
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
  const hash = hashOf(root, sources);
  try {
    mkdirSync(next, { recursive: true });
    const trouble = await runBuild(node, [join(root, 'web/build.ts'), next], root, onChild);
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
