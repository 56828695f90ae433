/**
 * `npm run test:postgres -- [--url postgres://… | --bin FOLDER] [files]`: the tests that speak SQL, on a PostgreSQL server that is not the
 * embedded one. `--url` names a server whose user may create databases; `--bin` the programs of one that is started for this and
 * thrown away (else the newest below /usr/lib/postgresql), with Korean as its language, so that nothing relies on how text is sorted.
 */
import { spawn } from 'node:child_process';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import type { DatabaseAddress } from '../src/store/connection.ts';
import { serverVariable } from '../test/harness/database.ts';
import { startOwnPostgres } from '../test/harness/own-postgres.ts';
import { createTemplate, dropTemplate } from '../test/harness/test-server.ts';

const root = join(import.meta.dirname, '..');
/** Everything that asks the database more than whether it is there. The files about the embedded server are about nothing else. */
const suite = [
  'test/store/schema.test.ts',
  'test/ledger/roll-ups.test.ts',
  'test/ledger/settlement.test.ts',
  'test/store/other-server.test.ts',
  'test/ledger',
  'test/nodes',
  'test/datasets',
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

/** A language whose order of texts is not that of their bytes, from the library that knows every language. */
const korean = ['--locale=C', '--locale-provider=icu', '--icu-locale=ko-KR'];

process.exit(await main());

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { url: { type: 'string' }, bin: { type: 'string' } },
    allowPositionals: true,
  });
  const bin = values.bin ?? newest();
  if (values.url === undefined && bin === undefined) {
    console.error(
      'tests: no PostgreSQL below /usr/lib/postgresql: apt-get install postgresql-15, or give --bin or --url',
    );
    return 1;
  }
  const own = values.url === undefined && bin !== undefined ? await startOwnPostgres(bin, korean) : null;
  const address = own?.address ?? addressOf(values.url ?? '');
  try {
    console.error(`tests: on ${await versionOf(address)}`);
    await createTemplate(address);
    const files = positionals.length === 0 ? suite : positionals;
    const code = await run(files.flatMap(testsIn), address, bin);
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

/** The parts of a URL, so that each test may put the name of its own database beside them. */
function addressOf(connectionString: string): DatabaseAddress {
  const { host, port, user, password, ssl, database = 'postgres' } = new Client({ connectionString });
  return {
    host,
    port,
    database,
    ssl,
    ...(user === undefined ? {} : { user }),
    ...(password == null ? {} : { password }),
  } as DatabaseAddress;
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

function run(files: readonly string[], address: DatabaseAddress, bin: string | undefined): Promise<number> {
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
      ...(bin === undefined ? {} : { NARU_TEST_POSTGRES_BIN: bin }),
    },
  });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}
