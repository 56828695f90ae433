/**
 * How long the pages take on large accounts: what `docs/decisions/rollups.md` says, measured.
 *
 *   npm run bench:analytics -- [--rows 300000] [--account-rows 100000] [--times 5] [--verify]
 *
 * Loads this many settled generations of 30 days into a scratch database, as many
 * as stated of one account, rolls them up, and reads every page row of that account's dashboard and of the console
 * over HTTP. Exits 1 when a row takes more than a second or fails.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { Client } from 'pg';
import { UsageRoller } from '../src/analytics/roll-usage.ts';
import { verifyUsage } from '../src/analytics/verify-usage.ts';
import { type GenerationUuid, generationIdOf } from '../src/ids/generation-id.ts';
import { silentLog } from '../src/log/log.ts';
import { type ConsoleParts, consoleRows } from '../src/pages/console/rows.ts';
import { type DashboardParts, dashboardRows } from '../src/pages/dashboard/rows.ts';
import type { AnyPageRoute } from '../src/pages/page-route.ts';
import { connect } from '../src/store/connection.ts';
import { Database } from '../src/store/database.ts';
import { serverVariable } from '../test/harness/database.ts';
import { startTestGateway, type TestGateway } from '../test/harness/gateway.ts';
import { PageBrowser, TestSessions } from '../test/harness/pages.ts';
import { insertPrice } from '../test/harness/price.ts';
import { startTestServer } from '../test/harness/test-server.ts';
import { loadedDays, loadGenerations } from './analytics-load.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '300000' },
    'account-rows': { type: 'string', default: '100000' },
    times: { type: 'string', default: '5' },
    verify: { type: 'boolean', default: false },
  },
});
const rows = Number(values.rows);
const times = Number(values.times);
const goalMs = 1_000;
/** Accounts beside the large one. */
const otherAccounts = 200;

/** They need an owner who signed in in person, or a slot. */
const notMeasured = [
  '/dashboard/api/profile',
  '/dashboard/api/personal-data',
  '/console/api/slots/{name}/log',
];

const usage = ['range=30d', 'range=today'];
const filters = [...usage, 'range=30d&model=vendor/model-1', 'range=30d&status=502'];
const dimensions = ['model', 'provider', 'status', 'error', 'finish'];
/** What is wanted of rows that need or accept a query; every other row is read without one. */
const queries: Readonly<Record<string, readonly string[]>> = {
  '/usage/totals': filters,
  '/usage/groups': [...dimensions, 'key', 'app'].map((by) => `range=30d&by=${by}`),
  '/usage/series': [
    'range=30d&step=hour',
    'range=30d&step=day',
    ...[...dimensions, 'key', 'app'].map((by) => `range=30d&step=day&by=${by}`),
    'range=30d&step=hour&by=model',
  ],
  '/usage/latency': ['ttft', 'duration', 'speed'].flatMap((of) => [
    `range=30d&of=${of}`,
    `range=30d&of=${of}&step=day`,
    `range=30d&of=${of}&step=day&by=model`,
    `range=30d&of=${of}&step=hour&by=provider`,
  ]),
  '/books/csv': [`month=${new Date().toISOString().slice(0, 7)}`],
  '/generations': [
    'range=30d',
    'range=30d&status=502',
    'range=30d&model=vendor/model-7&status=502',
    'range=30d&model=no/such-model',
    'range=today',
  ],
};

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const server = await startTestServer(() => {});
process.env[serverVariable] = JSON.stringify(server.connection);
const sessions = new TestSessions();
let missed = 0;
try {
  const gateway = await startTestGateway({ sessions });
  try {
    await measure(gateway);
  } finally {
    await gateway.close();
  }
} finally {
  await server.stop();
}
process.exitCode = missed > 0 ? 1 : 0;

async function measure(gateway: TestGateway): Promise<void> {
  print(
    `load average before: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  );
  const first = await gateway.account({ credit: '1000000000' });
  await prepare(gateway, first.accountId);
  const [record] = await gateway.database.query<{ id: string }>(
    'SELECT id FROM generation WHERE account_id = $1 ORDER BY id DESC LIMIT 1',
    [first.accountId],
  );
  const id = generationIdOf((record?.id ?? '').replaceAll('-', '') as GenerationUuid);
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(first.accountId));
  const admin = `http://127.0.0.1:${gateway.gateway.admin.port}`;
  const operator = new PageBrowser(admin, 'console', sessions.operator('admin'));
  const ids: Readonly<Record<string, string>> = {
    '/generations/{id}': `/generations/${id}`,
    '/accounts/{account}/generations/{id}': `/accounts/${first.accountId}/generations/${id}`,
    '/keys/{hash}': `/keys/${first.hash}`,
    '/apps/{id}': '/apps/281474976710001',
  };
  const all = [...dashboardRows({} as DashboardParts), ...consoleRows({} as ConsoleParts)];
  for (const row of all.filter(isRead))
    for (const path of pathsOf(row, ids, first.accountId))
      await measureRow(row.area === 'dashboard' ? owner : operator, `${row.area} ${path}`, path);
}

async function prepare({ operator, database, clock }: TestGateway, accountId: number): Promise<void> {
  const accounts = [accountId];
  for (let n = 0; n < otherAccounts; n += 1)
    accounts.push(await operator.createAccount({ name: `account ${n}`, email: null }));
  const payers: { accountId: number; keyIds: number[] }[] = [];
  for (const payer of accounts) {
    const keyIds: number[] = [];
    for (const name of ['first', 'second']) {
      const shape = { kind: 'inference', limit: null, limitReset: 'never', expiresAtMs: null } as const;
      const { hash } = await operator.createKey({ accountId: payer, name, ...shape });
      keyIds.push((await operator.readKey(hash))?.id ?? 0);
    }
    payers.push({ accountId: payer, keyIds });
  }
  const priceVersion = await insertPrice(database, { prompt: 1_000n, completion: 3_000n });
  const client = await connect(database.address, null);
  const slow = new Database(database.address, 2);
  const progress = (done: number): void => void process.stderr.write(`\r${done.toLocaleString('en')} loaded`);
  const firstOf = Math.max(1, Math.round(rows / Number(values['account-rows'])));
  const load = { rows, firstOf, accounts: payers, priceVersion, nowMs: clock.now() };
  const loadedMs = await loadGenerations(slow, client, load, progress);
  process.stderr.write('\r');
  print(`${rows.toLocaleString('en')} generations over ${loadedDays} days loaded in ${seconds(loadedMs)}`);
  const beganMs = performance.now();
  const roller = new UsageRoller({ database: slow, clock, log: silentLog });
  for await (const _ of roller.rebuild()) await Promise.resolve();
  print(`rolled up in ${seconds(performance.now() - beganMs)}`);
  await client.query('VACUUM ANALYZE usage_hour');
  const [size] = await slow.query<{ rows: bigint; bytes: bigint; all: bigint }>(
    `SELECT count(*) AS rows, pg_total_relation_size('usage_hour') AS bytes, pg_database_size(current_database()) AS all FROM usage_hour`,
  );
  const megabytes = (bytes = 0n): string => `${Math.round(Number(bytes) / 1e6).toLocaleString('en')} MB`;
  print(
    `usage_hour: ${size?.rows.toLocaleString('en')} rows, ${megabytes(size?.bytes)} of ${megabytes(size?.all)}`,
  );
  const verifiedMs = performance.now();
  if (!values.verify) return end(client, slow);
  const { differences } = await verifyUsage(slow);
  print(`${differences.length} differences; verified in ${seconds(performance.now() - verifiedMs)}`);
  missed += differences.length;
  await end(client, slow);
}

async function end(client: Client, database: Database): Promise<void> {
  await client.end();
  await database.close();
}

function isRead(row: AnyPageRoute): boolean {
  if (notMeasured.includes(row.path)) return false;
  return row.method === 'GET' && row.credential === 'session' && row.format !== 'stream';
}

function pathsOf(
  row: AnyPageRoute,
  ids: Readonly<Record<string, string>>,
  accountId: number,
): readonly string[] {
  const path = row.path.slice(`/${row.area}/api`.length);
  const filled = ids[path] ?? path.replace(/\{(?:account|id)\}/, String(accountId));
  const wanted = queries[path.replace('/accounts/{account}', '')] ?? [''];
  return wanted.map((query) => (query === '' ? filled : `${filled}?${query}`));
}

async function measureRow(browser: PageBrowser, name: string, path: string): Promise<void> {
  const took: number[] = [];
  let status = 0;
  for (let n = 0; n < times; n += 1) {
    const beganMs = performance.now();
    ({ status } = await browser.send('GET', path));
    took.push(performance.now() - beganMs);
  }
  took.sort((a, b) => a - b);
  const [median = 0, max = 0] = [took[Math.floor(took.length / 2)], took.at(-1)];
  const isMissed = max > goalMs || status >= 400;
  if (isMissed) missed += 1;
  const figures = `${median.toFixed(0).padStart(6)} ms ${max.toFixed(0).padStart(6)} ms`;
  print(`${name.padEnd(70)}${figures}  ${status}${isMissed ? '  MISSED' : ''}`);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
