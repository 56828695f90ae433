/**
 * `npm run release:container [-- --base FILE]`: builds the container of deploy/ from the release in
 * `release/`, which it makes when there is none, and runs the drill of `test/release/` on it. Needs
 * root on Debian, with buildah, mmdebstrap, nginx and PostgreSQL: no container engine and no registry.
 * The base is made of Debian's packages, or is the FILE, a tar archive. Buildah keeps the image.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const base = 'localhost/naru-base';
const image = `localhost/naru:${version}`;
const { values } = parseArgs({ options: { base: { type: 'string' } } });
const scratch = mkdtempSync(join(tmpdir(), 'naru-container-'));
try {
  makeRelease();
  makeBase(values.base ?? debian());
  timed('the image', 'buildah', [
    ...['bud', '--isolation', 'chroot', '--format', 'docker', '--build-arg', `BASE=${base}`],
    ...['--tag', image, '--file', join(root, 'deploy/Dockerfile'), join(root, 'release')],
  ]);
  drill();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function makeRelease(): void {
  const archive = `naru-${version}-${process.platform}-${process.arch}.tar.gz`;
  if (existsSync(join(root, 'release', archive))) return;
  timed('the release', process.execPath, [join(root, 'scripts/release.ts')]);
}

/** The packages that every Debian has, and apt. */
function debian(): string {
  const file = join(scratch, 'base.tar');
  timed('the base', 'mmdebstrap', ['--quiet', '--variant=minbase', 'bookworm', file]);
  return file;
}

function makeBase(file: string): void {
  const container = output('buildah', ['from', 'scratch']);
  output('buildah', ['add', '--quiet', container, file, '/']);
  output('buildah', ['commit', '--quiet', '--rm', container, base]);
}

/** The drill has a network of its own, which reaches nothing. */
function drill(): void {
  const container = output('buildah', ['from', '--pull-never', image]);
  try {
    const rootfs = output('buildah', ['mount', container]);
    const file = join(root, 'test/release/container-drill.ts');
    execFileSync('unshare', ['--net', process.execPath, file, image, rootfs, scratch], { stdio: 'inherit' });
  } finally {
    output('buildah', ['rm', container]);
  }
}

function output(command: string, args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

/** Prints how long a step took, and its output only when it fails. */
function timed(what: string, command: string, args: readonly string[]): void {
  const beganMs = performance.now();
  execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  console.log(`${what}: ${((performance.now() - beganMs) / 1000).toFixed(1)} s`);
}
