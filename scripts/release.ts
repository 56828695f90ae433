/**
 * `npm run release [FOLDER]`: writes a release into `release/`: the package for npm, the archive for
 * this platform, the components (CycloneDX), the section of the changelog, and the checksums of all.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { components } from './components.ts';
import { arePagesBuilt, buildPages } from './pages.mjs';
import { platformPackages, stagePackage } from './release-package.ts';

const root = join(import.meta.dirname, '..');
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly name: string;
  readonly version: string;
};
const release = `${name}-${version}`;
/** Libraries that Node and the demo engine need, and a small Debian lacks. */
const libraries = ['libatomic.so.1', 'libgomp.so.1'];

const folder = resolve(process.argv[2] ?? join(root, 'release'));
mkdirSync(join(root, '.cache'), { recursive: true });
const stage = mkdtempSync(join(root, '.cache/release-'));
try {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await buildMissingPages();
  stagePackage(join(stage, 'package'));
  pack(`${release}.tgz`, 'package');
  stageArchive(join(stage, 'package'));
  pack(`${release}-${process.platform}-${process.arch}.tar.gz`, 'package', release);
  writeFileSync(join(folder, `${release}.cdx.json`), components(root, join(stage, 'package')));
  writeFileSync(join(folder, `CHANGELOG-${version}.md`), changes());
  writeFileSync(join(folder, 'SHA256SUMS'), checksums());
} finally {
  rmSync(stage, { recursive: true, force: true });
}
console.error(`wrote ${folder}:\n  ${readdirSync(folder).join('\n  ')}`);

async function buildMissingPages(): Promise<void> {
  const trouble = arePagesBuilt(root) ? null : await buildPages(root, process.execPath);
  if (trouble !== null) throw new Error(`the pages could not be built:\n${trouble}`);
}

/** Adds what npm would install, and what a machine without Node may lack. */
function stageArchive(to: string): void {
  for (const from of platformPackages()) {
    const isUnneeded = (path: string): boolean => /\/node-[^/]+\/(?:include|share)$/.test(path);
    const target = join(to, 'node_modules', from);
    cpSync(join(root, 'node_modules', from), target, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !isUnneeded(path),
    });
  }
  mkdirSync(join(to, 'lib'));
  if (process.platform !== 'linux') return;
  const known = execFileSync('/sbin/ldconfig', ['-p'], { encoding: 'utf8' });
  for (const library of libraries) {
    const file = known.split('\n').find((line) => line.trimStart().startsWith(`${library} `));
    const path = file?.split(' => ')[1];
    if (path === undefined) throw new Error(`this machine has no ${library}`);
    copyFileSync(path, join(to, 'lib', library));
  }
}

/** The same files give the same archive, byte for byte. */
function pack(file: string, from: string, as = from): void {
  const args = [
    '--sort=name',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u+rw,go=rX',
    `--mtime=@${commitSeconds()}`,
  ];
  const transform = `--transform=flags=r;s,^${from},${as},`;
  execFileSync('tar', ['-czf', join(folder, file), ...args, transform, '-C', stage, from]);
}

/** The time of the last commit; without a repository the start of 2026. */
function commitSeconds(): string {
  try {
    return execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return '1767225600';
  }
}

/** The section of this version in the changelog. */
function changes(): string {
  const sections = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(/^(?=## )/m);
  const own = sections.find((section) => section.startsWith(`## ${version} `));
  if (own === undefined) throw new Error(`CHANGELOG.md has no section of ${version}`);
  return own;
}

/** In the format of `sha256sum --check`. */
function checksums(): string {
  const line = (file: string): string =>
    `${createHash('sha256')
      .update(readFileSync(join(folder, file)))
      .digest('hex')}  ${file}\n`;
  return readdirSync(folder).sort().map(line).join('');
}
