import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { generatedFiles } from './docs-site/generated.ts';
import { withoutDeadLinks } from './docs-site/markdown.ts';
import { pageFiles } from './docs-site/pages.ts';

const root = join(import.meta.dirname, '..');

/** What the package has besides the bundle: the launcher, and what the program reads. */
export const packagedFiles: readonly string[] = [
  'bin/naru',
  'scripts/with-node.mjs',
  'scripts/listen-fds.mjs',
  'scripts/npm.mjs',
  'scripts/build-once.mjs',
  'scripts/pages.mjs',
  'scripts/program.mjs',
  'scripts/restart-policy.mjs',
  'scripts/node-flags.json',
  'scripts/node-env.json',
  'src/store/migrations',
  'data/model-metadata.json',
  'demo-engine/model',
  'web/dist',
  'deploy',
  'docs/images',
  'naru.example.yaml',
  ...pageFiles.filter((file) => existsSync(join(root, file)) && !file.startsWith('deploy/')),
];
/** Named by the configuration page, for editors. */
const schemaFile = 'docs/naru.schema.json';
/** Served as it is. Its own dependency, which has an install script, is left out. */
const bundledPackage = 'swagger-ui-dist';
const bundledFiles = ['swagger-ui.css', 'swagger-ui-bundle.js', 'LICENSE', 'NOTICE'];

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly [member: string]: unknown;
}

/** The packages with programs for this platform: Node, PostgreSQL and the demo engine. */
export function platformPackages(): readonly string[] {
  const names = Object.keys(manifestIn(root).optionalDependencies);
  return names.filter((name) => existsSync(join(root, 'node_modules', name)));
}

/**
 * Writes the package for npm into a folder. It has no script, and its only dependencies are the
 * packages with programs for each platform. The pages must be built.
 */
export function stagePackage(to: string): void {
  mkdirSync(to, { recursive: true });
  for (const file of packagedFiles) cpSync(join(root, file), join(to, file), { recursive: true });
  for (const [file, text] of generatedFiles())
    if (pageFiles.includes(file) || file === schemaFile) writeFileSync(join(to, file), text);
  dropDeadLinks(to);
  const bundler = join(root, 'scripts/bundle.ts');
  execFileSync(process.execPath, [bundler, join(to, 'program'), join(root, 'program')]);
  const manifest = manifestIn(root);
  const { name, version, description, type, license, bin, optionalDependencies } = manifest;
  writeManifest(to, {
    ...{ name, version, description, type, license, bin },
    engines: { node: '>=22' },
    dependencies: { [bundledPackage]: manifest.dependencies[bundledPackage] },
    bundleDependencies: [bundledPackage],
    optionalDependencies,
  });
  stageBundledPackage(to);
}

/** Links to files that the package lacks become their texts. */
function dropDeadLinks(to: string): void {
  for (const file of readdirSync(to, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.md')) continue;
    const path = join(to, file);
    const exists = (link: string): boolean => existsSync(resolve(dirname(path), link));
    writeFileSync(path, withoutDeadLinks(readFileSync(path, 'utf8'), exists));
  }
}

function stageBundledPackage(to: string): void {
  const from = join(root, 'node_modules', bundledPackage);
  const target = join(to, 'node_modules', bundledPackage);
  mkdirSync(target, { recursive: true });
  for (const file of bundledFiles) cpSync(join(from, file), join(target, file));
  const { name, version, license } = manifestIn(from);
  writeManifest(target, { name, version, license });
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

function writeManifest(folder: string, members: object): void {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(members, null, 2)}\n`);
}
