/** Every code block of the documentation is run or checked, or is listed here with a reason. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { shippedFacts } from '../../src/config/model-metadata/shipped.ts';
import { createInstallationOn, type Installation, type Serving } from '../cli/naru.ts';
import { backupKey } from '../harness/backup-keys.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { byTier } from '../harness/tier.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';
import { type CodeBlock, codeBlocksOf, withIds, wordsOf } from './code-blocks.ts';
import { markdownFiles } from './markdown-files.ts';
import { parseCommand } from './parse-command.ts';

const root = join(import.meta.dirname, '../..');

/** Blocks that are not run, by file and first line, with what checks them instead. */
const notRun: Readonly<Record<string, string>> = {
  'README.md: git clone <this repository> naru && cd naru': 'every run of the tests begins like this; ',
  'CONTRIBUTING.md: npm test                          the types, then the quick tier of the tests, on a real database':
    'a table; readme.test.ts finds its scripts',
  'ARCHITECTURE.md: 13 main.ts                       the process: environment, signals, exit code':
    'a drawing; tidy.test.ts checks the layers',
  'docs/installing.md: npx ./naru-X.Y.Z.tgz up': 'test/release installs and starts the package',
  'docs/installing.md: mkdir /opt/naru && cd /opt/naru': 'test/release installs and starts the package',
  'docs/installing.md: tar -xzf naru-X.Y.Z-linux-x64.tar.gz': 'test/release unpacks and starts the archive',
  'docs/checklist.md: PATH=/usr/local/bin:/usr/bin:/bin': 'a file of cron',
  'tools/demo-model/README.md: npm run train    # about 2 minutes on one core; rewrites demo-engine/model/':
    'takes minutes; npm run check of that package compares its result',
  'docs/demo-engine.md: node demo-engine/server.ts --port N [--host 127.0.0.1] [--parallel 4] [--model-path FILE]':
    'a synopsis; test/engine starts it',
  'docs/datasets.md: naru dataset sync                     # all three':
    'calls a public service; test/datasets runs it on a local one',
  'deploy/README.md: apt-get install nginx': 'changes the machine; test/edge runs deploy/nginx.conf',
  'deploy/README.md: npm run release                                                  # or put the files of a release into release/':
    'needs a container engine; container.test.ts checks the files',
  'deploy/README.md: cp deploy/prometheus/prometheus.yml deploy/prometheus/naru.rules.yml /etc/prometheus/':
    'changes the machine; test/watching checks the files with promtool',
  'deploy/k8s/README.md: kubectl apply -f naru.yaml -f engine.yaml':
    'needs a cluster; kubernetes.test.ts checks the files',
  "deploy/k8s/README.md: kubectl -n naru create secret generic naru --from-literal=database-url='postgres://…'":
    'needs a cluster; kubernetes.test.ts checks the files',
  'src/slots/design.md:         requested             memory          probe returns 200      warm-up request':
    'a drawing',
};

/** Stands for every variable and file: also an encryption key has this form. */
const secret = backupKey;

/** What a block of `naru.yaml` relies on and shows elsewhere. */
const besides: Readonly<Record<string, string>> = {
  'docs/configuration.md: exchange: { usd_krw: 1400, margin_percent: 3 }': `
providers:
  - { slug: openai, dialect: openai, base_url: "https://api.openai.com/v1", api_key: x }
  - { slug: anthropic, dialect: anthropic, base_url: "https://api.anthropic.com/v1", api_key: x }
slots: [{ name: local, external: { base_url: "http://127.0.0.1:1" } }]
`,
  'docs/providers.md: providers:': 'exchange: { usd_krw: 1400 }\n',
};

const files = markdownFiles();
const blocks = files.flatMap(codeBlocksOf);
const inLanguage = (language: string): readonly CodeBlock[] =>
  blocks.filter((block) => block.language === language && !(block.name in notRun));
const runnable = inLanguage('sh');

test('every block is run, checked or listed with a reason', () => {
  // `npm run chaos:operator` runs the blocks marked `bash`.
  const checked = new Set(['sh', 'bash', 'ts', 'yaml', 'json'].flatMap(inLanguage));
  const unknown = blocks.filter((block) => !checked.has(block) && !(block.name in notRun));
  assert.deepEqual(
    unknown.map(({ name, line }) => `${name} (line ${line})`),
    [],
    'give the block a language that is checked, or name it in notRun',
  );
  assert.ok(runnable.length >= 9, `${runnable.length} blocks are run`);
  const names = new Set(blocks.map(({ name }) => name));
  assert.deepEqual(
    [...Object.keys(notRun), ...Object.keys(besides)].filter((name) => !names.has(name)),
    [],
  );
});

test('no code is indented instead of fenced', () => {
  for (const file of files)
    assert.doesNotMatch(readFileSync(join(root, file), 'utf8'), /\n[^\s\-*\d>|].*\n\n {4,}\S/, file);
});

test('the blocks of JSON parse', () => {
  const all = inLanguage('json');
  assert.ok(all.length >= 1);
  for (const { name, text: inside } of all) assert.doesNotThrow(() => JSON.parse(inside), name);
});

test('the blocks of naru.yaml have no fault', () => {
  const all = inLanguage('yaml');
  assert.ok(all.length >= 7);
  for (const { name, text: inside } of all) {
    const variables = [...inside.matchAll(/\$\{(\w+)\}/g)].map(([, variable = '']) => [variable, secret]);
    const loaded = loadConfig({
      text: `${besides[name] ?? ''}${inside}`.replaceAll('postgres://…', 'postgres://naru@db.test/naru'),
      path: '/srv/naru.yaml',
      env: Object.fromEntries(variables),
      readFile: () => secret,
      metadata: shippedFacts,
    });
    assert.deepEqual(loaded.ok ? [] : loaded.faults, [], name);
  }
});

test('the commands of naru in blocks that are not run parse', async () => {
  const lines = blocks
    .filter(({ name, language }) => name in notRun || language === 'bash')
    .flatMap(({ text: inside }) => inside.split('\n'));
  const commands = lines.filter((line) => /^(?:\S*\/)?naru [a-z]/.test(line));
  assert.ok(commands.length >= 4, commands.join('\n'));
  for (const command of commands) {
    const { code, output } = await parseCommand(wordsOf(withIds(command).replace(/ >.*/, '')).slice(1));
    // A path of the operator's machine is not here.
    assert.notEqual(code, 2, `${command}\n${output}`);
  }
});

let database: TestDatabase;
let upstream: Upstream;
let installation: Installation;
let serving: Serving;
let keys: Readonly<Record<'inference' | 'management', string>>;

before(async () => {
  database = await createTestDatabase();
  upstream = await startUpstream();
  const price = { prompt: 400, completion: 1200, currency: 'KRW', per: '1M' };
  const candidates = [{ provider: 'openai', model: 'gpt-4o-mini' }];
  installation = createInstallationOn(database.address, {
    providers: [{ slug: 'openai', name: 'OpenAI', dialect: 'openai', base_url: upstream.url, api_key: 'x' }],
    models: ['naru/demo', 'example/chat'].map((id) => ({ id, context_length: 32768, price, candidates })),
  });
  writeFileSync(join(installation.folder, '.curlrc'), 'fail-with-body\nsilent\nshow-error\nmax-time = 60\n');
  symlinkSync(join(root, 'node_modules'), join(installation.folder, 'node_modules'));
  serving = await installation.up();
  // The account of a first start.
  await installation.json('account', 'create', '--name', 'demo');
  await installation.json(
    'credit',
    'grant',
    '--account',
    '1',
    '--amount',
    '10000',
    '--idempotency-key',
    'demo',
  );
  const keyOf = async (kind: string): Promise<string> =>
    (await installation.json('key', 'create', '--account', '1', '--name', kind, '--kind', kind)).rows[0].key;
  keys = { inference: await keyOf('inference'), management: await keyOf('management') };
});
after(async () => {
  await serving?.stop();
  await upstream?.close();
  installation?.remove();
  await database?.drop();
});

/** The block with the address and the keys of the test in place of those that the pages show. */
function substituted(inside: string): string {
  return inside
    .replaceAll('http://127.0.0.1:8787', serving.origin)
    .replaceAll('sk-naru-v1-…', keys.inference)
    .replaceAll('sk-naru-mgmt-v1-…', keys.management);
}

/** Runs a program in the repository, beside the server of the test; returns its output. */
async function run(command: string, args: readonly string[], name: string): Promise<string> {
  const { folder, dataDir } = installation;
  const child = spawn(command, args, {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      CURL_HOME: folder,
      NARU_DATA_DIR: dataDir,
      NARU_CONFIG: join(folder, 'naru.yaml'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.equal(await ended, 0, `${name}\n${out}${err}`);
  return out;
}

/** Runs a block as a shell does, and fails with the first command that fails. */
async function runShell({ text: inside, name }: CodeBlock): Promise<string> {
  const commands = inside.trim().split('\n');
  const isOwn = commands.every((line) => line.startsWith('bin/naru '));
  if (!byTier(isOwn, false)) return run('bash', ['-euo', 'pipefail', '-c', substituted(inside)], name);
  // In this process a command takes a tenth of the time.
  let out = '';
  for (const line of commands) {
    const ended = await installation.run(...wordsOf(line).slice(1));
    assert.equal(ended.code, 0, `${name}: ${line}\n${ended.out}${ended.err}`);
    out += ended.out;
  }
  return out;
}

test('every shell block works on a server, in the order of the pages', async () => {
  for (const block of runnable) assert.notEqual((await runShell(block)).trim(), '', block.name);
});

test('every program in TypeScript runs on a server', async () => {
  const programs = inLanguage('ts');
  assert.ok(programs.length > 0);
  for (const { name, text: inside } of programs) {
    const file = join(installation.folder, 'program.ts');
    writeFileSync(file, substituted(inside));
    assert.equal(await run(process.execPath, [file], name), 'Hello from upstream.', name);
  }
});
