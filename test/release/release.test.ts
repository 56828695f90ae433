import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { bundledIn } from '../../scripts/components.ts';
import { replaceLinks } from '../../scripts/docs-site/markdown.ts';
import { pageFiles } from '../../scripts/docs-site/pages.ts';
import { npmCommand } from '../../scripts/npm.mjs';
import { packagedFiles } from '../../scripts/release-package.ts';
import { collectOutput, endOf } from '../cli/naru.ts';
import { fullOnly } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';

/* A release, as `npm run release` makes it, on a machine that has nothing of this repository. */

const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
let folder = '';

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'naru-release-'));
  // When we are root, PostgreSQL runs as another user, which must be able to get there.
  chmodSync(folder, 0o755);
  if (fullOnly.skip === false)
    run(process.execPath, [join(root, 'scripts/release.ts'), join(folder, 'made')]);
});
after(() => rmSync(folder, { recursive: true, force: true }));

function run(command: string, args: readonly string[], cwd = root): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** An empty folder that every user may enter. */
function emptyFolder(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

/** The folder of all commands of this machine, except Node and npm. */
function pathWithoutNode(): string {
  const path = emptyFolder('bin');
  for (const name of readdirSync('/usr/bin'))
    if (!/^(?:node|nodejs|npm|npx|corepack)$/.test(name))
      symlinkSync(join('/usr/bin', name), join(path, name));
  return path;
}

/**
 * Starts `naru up` twice: the first start prints the keys of the demo account, one of which buys a
 * response of the demo engine; after the second the balance is still charged. The data are in the
 * home directory.
 */
async function serveAndBill(naru: string, home: string, path: string): Promise<void> {
  const env = { HOME: home, PATH: path };
  const first = await up(naru, home, env);
  const { key } = first.rows[0] as { readonly key: string };
  const response = await fetch(`${first.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'naru/demo', messages: [{ role: 'user', content: '나루가 뭐야?' }] }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const { choices, usage } = JSON.parse(text);
  assert.match(choices[0].message.content, /나루/);
  assert.ok(usage.cost > 0, text);
  for (const page of ['/dashboard', '/docs/swagger-ui-bundle.js', '/openapi.json'])
    assert.equal((await fetch(`${first.url}${page}`)).status, 200, page);
  assert.equal(await first.stop(), 0);
  const second = await up(naru, home, env);
  const credits = await fetch(`${second.url}/api/v1/key`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await credits.json()) as { readonly data: { readonly usage: number } };
  assert.equal(data.usage, usage.cost);
  assert.equal(await second.stop(), 0);
  assert.ok(readdirSync(home).includes('.naru'));
}

async function up(naru: string, cwd: string, env: Readonly<Record<string, string>>) {
  const child = spawn(naru, ['up', '--json', '--port', '0'], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const { out, err } = collectOutput(child);
  const ended = endOf(child);
  const rows = (): readonly Readonly<Record<string, unknown>>[] =>
    out()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const url = await eventually('the server listens', 60_000, () => {
    assert.equal(child.exitCode, null, err());
    return (rows().find(({ event }) => event === 'listening')?.['url'] as string | undefined) ?? null;
  });
  return {
    url,
    rows: rows(),
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

test('the package has every file that its launcher imports', () => {
  const importsOf = (file: string): readonly string[] =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/ from '(\.[^']+)'/g)].flatMap(([, path = '']) => {
      const found = join(dirname(file), path);
      return [found, ...importsOf(found)];
    });
  const needed = importsOf('scripts/with-node.mjs');
  assert.ok(needed.length > 3);
  for (const file of needed) assert.ok(packagedFiles.includes(file), file);
});

test(
  'the package of npm serves and bills after its installation into an empty folder',
  fullOnly,
  async () => {
    const installed = emptyFolder('installed');
    const [npm, ...before] = npmCommand();
    const cache = process.env['npm_config_cache'] ?? join(homedir(), '.npm');
    const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', `--cache=${cache}`];
    run(npm, [...before, 'install', ...options, join(folder, `made/naru-${version}.tgz`)], installed);
    const naru = join(installed, 'node_modules/.bin/naru');
    const path = process.env['PATH'] ?? '';
    assert.equal(run(naru, ['--version'], installed), `${version}\n`);
    await serveAndBill(naru, emptyFolder('home-of-package'), path);
  },
);

test('the archive serves and bills on a machine without Node', fullOnly, async () => {
  const unpacked = emptyFolder('unpacked');
  const archive = `naru-${version}-${process.platform}-${process.arch}`;
  run('tar', ['-xzf', join(folder, `made/${archive}.tar.gz`)], unpacked);
  const path = pathWithoutNode();
  assert.notEqual(spawnSync('/bin/sh', ['-c', 'node --version'], { env: { PATH: path } }).status, 0);
  await serveAndBill(join(unpacked, `naru-${version}/bin/naru`), emptyFolder('home-of-archive'), path);
});

test('a release has checksums of all files, its components and its changes', fullOnly, () => {
  const made = join(folder, 'made');
  const checked = run('sha256sum', ['--check', 'SHA256SUMS'], made);
  const files = readdirSync(made).filter((name) => name !== 'SHA256SUMS');
  assert.deepEqual(checked.trim().split('\n').sort(), files.map((name) => `${name}: OK`).sort());
  const document = JSON.parse(readFileSync(join(made, `naru-${version}.cdx.json`), 'utf8'));
  assert.equal(document.bomFormat, 'CycloneDX');
  const components: readonly {
    readonly name: string;
    readonly version?: string;
    readonly licenses: unknown;
  }[] = document.components;
  const names = components.map(({ name }) => name);
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), 'react'])
    assert.ok(names.includes(name), name);
  for (const name of ['typescript', 'vite', 'rolldown', '@types/node'])
    assert.ok(!names.includes(name), name);
  for (const { name, licenses } of components) assert.ok(Array.isArray(licenses), name);
  assert.match(readFileSync(join(made, `CHANGELOG-${version}.md`), 'utf8'), /^## [\s\S]+### Added/);
  const listed = run('tar', ['-tzf', `naru-${version}.tgz`], made).split('\n');
  // The pages of the site, and nothing that contributors read.
  assert.ok(listed.includes('package/docs/naru.schema.json'));
  assert.deepEqual(
    listed.filter((name) => name.endsWith('.md')).sort(),
    pageFiles.map((file) => `package/${file}`).sort(),
  );
  assert.deepEqual(
    listed.filter((name) => /\.ts$/.test(name)),
    [],
  );
  assert.ok(listed.includes('package/program/main.cjs'));
  const packed = (file: string): string =>
    run('tar', ['-xzOf', `naru-${version}.tgz`, `package/${file}`], made);
  for (const name of Object.keys(dependencies))
    if (name !== 'swagger-ui-dist')
      assert.match(packed('program/licenses.txt'), new RegExp(`^${name} `, 'm'));
  assert.match(packed('web/dist/console/licenses.txt'), /react/);
  const staged = emptyFolder('staged');
  run('tar', ['-xzf', join(made, `naru-${version}.tgz`), '-C', staged]);
  const versions = components.map(({ name, version: of }) => `${name}@${of}`);
  for (const part of ['program', 'web/dist/dashboard', 'web/dist/console']) {
    const bundled = bundledIn(join(staged, 'package', part, 'licenses.txt'));
    assert.ok(bundled.length > 10, part);
    for (const each of bundled) assert.ok(versions.includes(each), each);
  }
  for (const file of listed.filter((name) => name.endsWith('.md'))) {
    const dead: string[] = [];
    replaceLinks(readFileSync(join(staged, file), 'utf8'), (link) => {
      const [path = ''] = link.split('#');
      if (path !== '' && !existsSync(join(staged, dirname(file), path))) dead.push(link);
      return link;
    });
    assert.deepEqual(dead, [], file);
  }
});
