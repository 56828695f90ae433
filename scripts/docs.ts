/**
 * `npm run docs [-- --tables] [-- --base /naru/ --out FOLDER]`: writes what is generated from the code
 * and the tests into `build/docs`, and with `--tables` ends; then builds the documentation into
 * `dist/docs`, as static files for a server under `--base` (`/`). VitePress is not part of the installation: the
 * packages of `docs-site/packages` are installed into `.cache/docs-site`, once per content of their
 * lockfile. Fails on a link without a target and on a page that loads anything from elsewhere.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { foreignLoads } from './docs-site/foreign-loads.ts';
import { generatedFiles } from './docs-site/generated.ts';
import { readSite, type Site } from './docs-site/site.ts';
import { installPackages } from './install-once.ts';

const root = join(import.meta.dirname, '..');
const own = join(import.meta.dirname, 'docs-site');
const cache = join(root, '.cache/docs-site');

const { values } = parseArgs({
  options: {
    base: { type: 'string', default: '/' },
    out: { type: 'string', default: 'dist/docs' },
    tables: { type: 'boolean', default: false },
  },
});
for (const [file, text] of generatedFiles()) put(join(root, 'build', file), text);
if (values.tables) process.exit(0);
const outDir = resolve(values.out);
const site = readSite();
if (site.deadLinks.length > 0) fail(`links without a target:\n${site.deadLinks.join('\n')}`);
try {
  installPackages(join(own, 'packages'), cache);
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
write(site);
const vitepress = join(cache, 'node_modules/vitepress/bin/vitepress.js');
if (run(process.execPath, [vitepress, 'build', cache], cache) !== 0) fail('the site was not built');
const loads = foreignLoads(outDir);
if (loads.length > 0) fail(`pages load files of other servers:\n${loads.join('\n')}`);
console.error(`naru: ${site.pages.size} pages are in ${outDir}`);

/** Writes the pages and the configuration beside the packages. */
function write({ pages, files, sidebar }: Site): void {
  for (const folder of ['pages', '.vitepress']) rmSync(join(cache, folder), { recursive: true, force: true });
  cpSync(join(own, 'vitepress'), join(cache, '.vitepress'), { recursive: true });
  cpSync(join(root, 'web/fonts/pretendard'), join(cache, '.vitepress/theme/pretendard'), { recursive: true });
  copyFileSync(join(own, 'markdown.ts'), join(cache, '.vitepress/markdown.ts'));
  const settings = JSON.stringify({ base: values.base, outDir, sidebar });
  writeFileSync(join(cache, '.vitepress/site.json'), settings);
  for (const [address, text] of pages) put(join(cache, 'pages', `${address}.md`), text);
  put(join(cache, 'pages/public/icon.svg'), readFileSync(join(root, 'web/src/app/icon.svg'), 'utf8'));
  for (const file of files) {
    const to = join(cache, 'pages/public', file);
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(join(root, file), to);
  }
}

function put(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function run(command: string, args: readonly string[], cwd: string): number {
  return spawnSync(command, args, { cwd, stdio: 'inherit' }).status ?? 1;
}

function fail(message: string): never {
  console.error(`naru: ${message}`);
  process.exit(1);
}
