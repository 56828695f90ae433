/**
 * How long the pages take on large accounts: what `docs/decisions/rollups.md` says, measured.
 *
 *   npm run bench:analytics -- [--rows 300000] [--account-rows 100000] [--accounts 200] [--days 30]
 *     [--models 40] [--made] [--times 5] [--verify]
 *
 * Loads this many settled generations into a scratch database, as many as stated of one account,
 * rolls them up, and reads over HTTP what a browser reads to show each page of `docs/pages.md`, and
 * then every page row of that account's dashboard and of the console. With `--made`, only the one
 * account gets records; the rollups of the others, and those of all together, are made as their
 * records would make them. Exits 1 when a page or a row takes more than a second, or fails.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { Client } from 'pg';
import { UsageRoller } from '../src/analytics/roll-usage.ts';
import { verifyUsage } from '../src/analytics/verify-usage.ts';
import { silentLog } from '../src/log/log.ts';
import { connect } from '../src/store/connection.ts';
import { Database } from '../src/store/database.ts';
import { serverVariable } from '../test/harness/database.ts';
import { startTestGateway, type TestGateway } from '../test/harness/gateway.ts';
import { TestSessions } from '../test/harness/pages.ts';
import { insertPrice } from '../test/harness/price.ts';
import { startTestServer } from '../test/harness/test-server.ts';
import { createPayers, type Load, loadGenerations, loadPayers } from './analytics-load.ts';
import { measurePages } from './analytics-pages.ts';
import { makeRollups } from './analytics-rollups.ts';
import { lastRequest, measureRows } from './analytics-rows.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '300000' },
    'account-rows': { type: 'string', default: '100000' },
    accounts: { type: 'string', default: '200' },
    days: { type: 'string', default: '30' },
    models: { type: 'string', default: '40' },
    times: { type: 'string', default: '5' },
    made: { type: 'boolean', default: false },
    verify: { type: 'boolean', default: false },
  },
});
const rows = Number(values.rows);
const accountRows = Number(values['account-rows']);
const days = Number(values.days);
const models = Number(values.models);
const otherAccounts = Number(values.accounts) - 1;
/** Keys of the large account. */
const keys = 10;
const auditEntries = 10_000;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const progress = (done: number): void => void process.stderr.write(`\r${done.toLocaleString('en')} loaded\r`);
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
  printLoad('before');
  const first = await gateway.account({ credit: '1000000000' });
  const client = await connect(gateway.database.address, null);
  const slow = new Database(gateway.database.address, 2);
  try {
    await load(gateway, first.accountId, { client, slow });
    await rollUp(gateway, { client, slow, accountId: first.accountId });
    await printSizes(slow);
    if (values.verify) await verify(slow);
  } finally {
    await client.end();
    await slow.close();
  }
  printLoad('while reading');
  const times = Number(values.times);
  const id = await lastRequest(gateway, first.accountId);
  missed += await measurePages(
    gateway,
    sessions,
    { accountId: first.accountId, id, times: 4 * times },
    print,
  );
  missed += await measureRows(gateway, sessions, { ...first, days, times }, print);
  printLoad('after');
}

interface Connections {
  readonly client: Client;
  readonly slow: Database;
}

async function load(
  { operator, database, clock }: TestGateway,
  accountId: number,
  { client, slow }: Connections,
): Promise<void> {
  const keyIds: number[] = [];
  for (let n = 0; n < keys; n += 1) {
    const shape = { kind: 'inference', limit: null, limitReset: 'never', expiresAtMs: null } as const;
    const { hash } = await operator.createKey({ accountId, name: `key ${n}`, ...shape });
    keyIds.push((await operator.readKey(hash))?.id ?? 0);
  }
  const spread: Load = {
    rows: values.made ? accountRows : rows,
    firstOf: values.made ? 1 : Math.max(1, Math.round(rows / accountRows)),
    accounts: [{ accountId, keyIds }, ...(await createPayers(client, otherAccounts))],
    priceVersion: await insertPrice(database, { prompt: 1_000n, completion: 3_000n }),
    nowMs: clock.now(),
    days,
    models,
  };
  await loadPayers(client, spread);
  await client.query(
    `INSERT INTO audit_entry (at, who, role, act) SELECT now() - n * interval '1 minute', 'operator ' || n % 9, 'admin', 'key.change' FROM generate_series(1, $1::int) n`,
    [auditEntries],
  );
  const loadedMs = await loadGenerations(slow, client, spread, progress);
  print(
    `${spread.rows.toLocaleString('en')} generations over ${days} days loaded in ${seconds(loadedMs)}: ${accountRows.toLocaleString('en')} of one account, ${otherAccounts} others, ${models} models`,
  );
}

async function rollUp(
  { clock }: TestGateway,
  { client, slow, accountId }: Connections & { readonly accountId: number },
): Promise<void> {
  let beganMs = performance.now();
  const roller = new UsageRoller({ database: slow, clock, log: silentLog });
  for await (const _ of roller.rebuild()) await Promise.resolve();
  print(`rolled up in ${seconds(performance.now() - beganMs)}`);
  if (!values.made) return void (await client.query('VACUUM ANALYZE usage_hour, usage_day'));
  beganMs = performance.now();
  const others = rows - accountRows;
  const made = { rows: others, accounts: otherAccounts, firstAccountId: accountId };
  await makeRollups(client, { ...made, models, days, nowMs: clock.now() }, progress);
  print(
    `rollups of ${others.toLocaleString('en')} more generations, without records, made in ${seconds(performance.now() - beganMs)}`,
  );
  beganMs = performance.now();
  await roller.reconcile();
  await client.query('VACUUM ANALYZE usage_day');
  print(`days checked and summed again in ${seconds(performance.now() - beganMs)}`);
}

async function printSizes(slow: Database): Promise<void> {
  for (const table of ['usage_hour', 'usage_day']) {
    const [size] = await slow.query<{ rows: bigint; bytes: bigint; all: bigint }>(
      `SELECT count(*) AS rows, pg_total_relation_size('${table}') AS bytes, pg_database_size(current_database()) AS all FROM ${table}`,
    );
    print(
      `${table}: ${size?.rows.toLocaleString('en')} rows, ${megabytes(size?.bytes)} of ${megabytes(size?.all)}`,
    );
  }
}

async function verify(slow: Database): Promise<void> {
  const beganMs = performance.now();
  const { differences } = await verifyUsage(slow);
  print(`${differences.length} differences; verified in ${seconds(performance.now() - beganMs)}`);
  missed += differences.length;
}

function printLoad(when: string): void {
  print(
    `load average ${when}: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  );
}

function megabytes(bytes = 0n): string {
  return `${Math.round(Number(bytes) / 1e6).toLocaleString('en')} MB`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
