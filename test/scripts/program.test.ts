import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { before, test } from 'node:test';
import { buildProgram, programOf, removeOldBuilds } from '../../scripts/program.mjs';
import { runCommand } from '../../src/postgres/run-command.ts';

const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
let folder = '';

before(async () => {
  assert.equal(await buildProgram(root, process.execPath), null);
  folder = dirname(programOf(root) ?? assert.fail('the build left no program'));
});

/** What runs when it is loaded. */
const entries = ['demo-engine-server', 'main', 'metering-tokenizer-worker', 'wire-json-worker'];

/** The files that only export. */
function parts(): readonly string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.cjs') && !entries.includes(name.slice(0, -4)));
}

test('every part of the bundle loads', async () => {
  assert.ok(parts().length > 20);
  const files = parts().map((name) => join(folder, name));
  // Parts load `main`, which then runs as this command, once all of them are loaded.
  const loadAll = `process.argv.push('naru', '--version'); ${JSON.stringify(files)}.forEach(require);`;
  const { output, ok } = await runCommand(process.execPath, ['-e', loadAll], {
    user: null,
    env: process.env,
    timeoutMs: 60_000,
  });
  assert.deepEqual([output, ok], [`${version}\n`, true]);
});

test('old builds are removed, except those that a process runs', async () => {
  const home = mkdtempSync(join(tmpdir(), 'naru-builds-'));
  const names = ['used', 'old', 'third', 'second', 'newest'];
  names.forEach((name, at) => {
    mkdirSync(join(home, name));
    utimesSync(join(home, name), at + 1, at + 1);
  });
  writeFileSync(join(home, 'used/main.cjs'), 'process.stdin.resume();');
  utimesSync(join(home, 'used'), 1, 1);
  const child = spawn(process.execPath, [join(home, 'used/main.cjs')], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  try {
    removeOldBuilds(home);
    assert.deepEqual(new Set(readdirSync(home)), new Set(['used', 'third', 'second', 'newest']));
  } finally {
    child.kill();
    rmSync(home, { recursive: true, force: true });
  }
});

test('the source maps name the file and the line of the source', () => {
  const line = 'async function up(options, proc) {';
  const part = parts().find((name) => readFileSync(join(folder, name), 'utf8').includes(line)) ?? '';
  const at = readFileSync(join(folder, part), 'utf8').split('\n').indexOf(line);
  const map = new SourceMap(JSON.parse(readFileSync(join(folder, `${part}.map`), 'utf8')));
  const entry = map.findEntry(at, line.indexOf('up('));
  assert.ok('originalSource' in entry);
  const source = resolve(folder, entry.originalSource);
  assert.equal(source, join(root, 'src/app/up.ts'));
  const sourceLine = readFileSync(source, 'utf8').split('\n')[entry.originalLine] ?? '';
  assert.match(sourceLine, /^export async function up\(/);
});

test('the bundle names the files that the program reads or starts', () => {
  const named = readdirSync(folder)
    .filter((name) => name.endsWith('.cjs'))
    .flatMap((name) => [
      ...readFileSync(join(folder, name), 'utf8').matchAll(/new URL\("(\.[^"]+)", require\("url"\)/g),
    ]);
  const files = new Set(named.map(([, path = '']) => resolve(folder, path)));
  const read = ['data/model-metadata.json', 'demo-engine/model/naru-demo.gguf', 'src/store/migrations', '.'];
  read.push('src/store/migrations/schema.txt');
  const started = entries.filter((name) => name !== 'main').map((name) => join(folder, `${name}.cjs`));
  assert.deepEqual(files, new Set([...started, ...[...read, 'web/dist'].map((path) => join(root, path))]));
  for (const file of [...read.map((path) => join(root, path)), ...started]) assert.ok(existsSync(file), file);
});
