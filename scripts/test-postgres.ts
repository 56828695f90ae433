/**
 * `npm run test:postgres -- [--url postgres://… [--workers HOST:PORT,…] | --bin FOLDER] [files]`:
 * runs the tests that use SQL on a PostgreSQL server other than the embedded one. `--url` names a
 * server whose user may create databases, over TCP or a socket; with `--workers` it is the
 * coordinator of a Citus cluster of these servers, over which every test database is distributed; `--bin` the programs of a temporary one (default: the newest below
 * /usr/lib/postgresql), with a Korean locale, so that no test relies on a sort order.
 */
import { spawn } from 'node:child_process';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import type { DatabaseAddress } from '../src/store/connection.ts';
import { addressOf, workersOf, workersVariable } from '../test/harness/citus.ts';
import { serverVariable } from '../test/harness/database.ts';
import { startOwnPostgres } from '../test/harness/own-postgres.ts';
import { createTemplate, dropTemplate } from '../test/harness/test-server.ts';

const root = join(import.meta.dirname, '..');
/** All tests that use the database, except those of the embedded server. */
const suite = [
  'test/store/schema.test.ts',
  'test/ledger/roll-ups.test.ts',
  'test/ledger/settlement.test.ts',
  'test/store/other-server.test.ts',
  'test/ledger',
  'test/nodes',
  'test/datasets',
  'test/pages',
  'test/backup',
  'test/generations',
  'test/operations',
  'test/catalogue',
  'test/cli/prune.test.ts',
  ...[
    'account-and-records',
    'apps',
    'authentication',
    'billing',
    'datasets',
    'datasets-models',
    'durable-first',
    'failures',
  ].map((name) => `test/api/${name}.test.ts`),
  ...['key-changes', 'key-states', 'keys', 'limits', 'metrics', 'reload', 'streaming'].map(
    (name) => `test/api/${name}.test.ts`,
  ),
];

/** An ICU locale whose sort order differs from the byte order. */
const korean = ['--locale=C', '--locale-provider=icu', '--icu-locale=ko-KR'];

process.exit(await main());

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { url: { type: 'string' }, workers: { type: 'string' }, bin: { type: 'string' } },
    allowPositionals: true,
  });
  const bin = values.bin ?? newest();
  if (values.url === undefined && bin === undefined) {
    console.error(
      'tests: no PostgreSQL below /usr/lib/postgresql: run apt-get install postgresql-15, or pass --bin or --url',
    );
    return 1;
  }
  const own = values.url === undefined && bin !== undefined ? await startOwnPostgres(bin, korean) : null;
  const address = own?.address ?? addressOf(values.url ?? '');
  try {
    console.error(`tests: on ${await versionOf(address)}`);
    await createTemplate(address);
    const files = positionals.length === 0 ? suite : positionals;
    const workers = workersOf(values.workers ?? '', address);
    const code = await run(files.flatMap(testsIn), { address, workers, bin });
    await dropTemplate(address);
    return code;
  } finally {
    await own?.stop();
  }
}

function newest(): string | undefined {
  const version = (path: string): number => Number(/(\d+)\/bin$/.exec(path)?.[1] ?? 0);
  return globSync('/usr/lib/postgresql/*/bin')
    .toSorted((a, b) => version(a) - version(b))
    .at(-1);
}

async function versionOf(address: DatabaseAddress): Promise<string> {
  const client = new Client(address);
  await client.connect();
  const { rows } = await client.query<{ version: string }>('SELECT version()');
  await client.end();
  return rows[0]?.version ?? '';
}

function testsIn(path: string): readonly string[] {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return globSync(`${path}/**/*.test.ts`, { cwd: root }).sort();
}

interface Servers {
  readonly address: DatabaseAddress;
  readonly workers: readonly DatabaseAddress[];
  readonly bin: string | undefined;
}

function run(files: readonly string[], { address, workers, bin }: Servers): Promise<number> {
  const flags = [
    '--test',
    '--test-concurrency=2',
    '--test-timeout=180000',
    '--test-reporter=spec',
    '--test-force-exit',
  ];
  const child = spawn(process.execPath, [...flags, ...files], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      [serverVariable]: JSON.stringify(address),
      [workersVariable]: JSON.stringify(workers),
      ...(bin === undefined ? {} : { NARU_TEST_POSTGRES_BIN: bin }),
    },
  });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}
