/**
 * How far one database goes: what `docs/scale.md` says, measured.
 *
 *   npm run bench:scale -- [--rows 1000000] [--seconds 5]
 *
 * Settlements a second by batch size, against pgbench with the same statements on the same server;
 * bytes of a generation, of its journal records and of what is in memory; what retention costs; how
 * often nodes must query the database for credit. Durability is on. Exits 1 when a goal is missed
 * or something deadlocked; figures of one run on one machine: compare the ratios.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { StoredApps } from '../src/generations/apps-sql.ts';
import { ensurePartitions } from '../src/generations/partitions.ts';
import { settleBatch } from '../src/ledger/settlement-sql.ts';
import { recordChange } from '../src/store/changes.ts';
import { connect, type DatabaseAddress } from '../src/store/connection.ts';
import { Database } from '../src/store/database.ts';
import { systemClock } from '../src/time/clock.ts';
import { templateDatabase } from '../test/harness/database.ts';
import { startTestServer } from '../test/harness/test-server.ts';
import { cpuMsOf } from './cpu.ts';
import { memoryOfKnown } from './scale-memory.ts';
import { findPgbench, pgbench } from './scale-pgbench.ts';
import { ACCOUNTS, batch, journalBytes } from './scale-rows.ts';
import { spendTogether } from './scale-shares.ts';

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '1000000' }, seconds: { type: 'string', default: '5' } },
});
const seconds = Number(values.seconds);
const rowsWanted = Number(values.rows);
const print = (name: string, value: string | number): void =>
  void process.stdout.write(
    `${name.padEnd(62)}${typeof value === 'number' ? Math.round(value).toLocaleString('en') : value}\n`,
  );
const missed: string[] = [];

function goal(name: string, ratio: number, least: number): void {
  print(name, `${ratio.toFixed(2)} (goal ${least})`);
  if (ratio < least) missed.push(name);
}

/** Settlements a second of `connections` settlers with batches of `size`. */
async function settle(address: DatabaseAddress, size: number, connections: number): Promise<number> {
  const clients = await Promise.all(Array.from({ length: connections }, () => connect(address)));
  const storedApps = new StoredApps();
  for (const client of clients) {
    await client.query('SET plan_cache_mode = force_generic_plan');
    await settleBatch(client, batch(size, systemClock.now()), { storedApps });
  }
  const beganMs = performance.now();
  let done = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() - beganMs < seconds * 1000) {
        await settleBatch(client, batch(size, systemClock.now()), { storedApps });
        done += size;
      }
    }),
  );
  const perSecond = done / ((performance.now() - beganMs) / 1000);
  for (const client of clients) await client.end();
  return perSecond;
}

async function one<T>(database: Database, sql: string): Promise<T> {
  const [row] = await database.query<{ value: T }>(sql);
  return row?.value as T;
}

async function rates(database: Database, address: DatabaseAddress, folder: string): Promise<void> {
  for (const size of [1, 20, 100, 200, 500])
    print(`settlements/s, batches of ${size}, one connection`, await settle(address, size, 1));
  for (const [size, connections] of [
    [100, 4],
    [500, 4],
    [500, 8],
  ] as const)
    print(
      `settlements/s, batches of ${size}, ${connections} connections`,
      await settle(address, size, connections),
    );
  const before = cpuMsOf(process.pid) ?? 0;
  const perSecond = await settle(address, 100, 1);
  const spentUs = (((cpuMsOf(process.pid) ?? 0) - before) * 1000) / (perSecond * seconds);
  print('CPU of a settlement in batches of 100, µs', spentUs.toFixed(1));
  const deadlocks = await one<bigint>(
    database,
    'SELECT deadlocks AS value FROM pg_stat_database WHERE datname = current_database()',
  );
  print('deadlocks', Number(deadlocks));
  if (deadlocks !== 0n) missed.push('deadlocks');
  const program = findPgbench();
  if (program === null)
    return print('pgbench', 'missing: apt-get install postgresql-15; the ratios to it are not measured');
  const best = { batches: 0, whole: 0, pipelined: 0, single: 0 };
  const cpu = { ...best };
  const run = async (what: keyof typeof best, perSecond: () => Promise<number>): Promise<void> => {
    const before = cpuMsOf(process.pid) ?? 0;
    const done = await perSecond();
    const usedUs = (((cpuMsOf(process.pid) ?? 0) - before) * 1000) / (done * seconds);
    if (done > best[what]) [best[what], cpu[what]] = [done, usedUs];
  };
  // Alternating, best of each: other load on the host affects all of them alike.
  for (let round = 0; round < 3; round += 1)
    for (const clients of [8, 16, 32, 64]) {
      await run('batches', () => settle(address, 500, 1));
      for (const what of ['whole', 'pipelined', 'single'] as const)
        await run(what, () => pgbench(program, address, what, { clients, seconds, folder }));
    }
  print('pgbench transactions/s, all statements of a settlement, best', best.whole);
  print('pgbench transactions/s, the same sent together, best', best.pipelined);
  print('pgbench transactions/s, one INSERT, best', best.single);
  print('settlements/s, batches of 500, one connection, best', best.batches);
  // Of client and server; unlike the rates it does not depend on other load on the host.
  const spent = [cpu.whole, cpu.pipelined, cpu.single, cpu.batches];
  print('CPU of each of these, µs', spent.map((us) => us.toFixed(0)).join(', '));
  print('batches of 500 / pgbench, statement by statement', (best.batches / best.whole).toFixed(2));
  goal(
    'batches of 500 / pgbench, the better of the two',
    best.batches / Math.max(best.whole, best.pipelined),
    4,
  );
  goal('batches of 500 / pgbench, one INSERT', best.batches / best.single, 1.1);
}

async function sizes(database: Database, address: DatabaseAddress): Promise<void> {
  await database.transaction((sql) =>
    sql.query(
      `${['generation', 'ledger', 'key_usage_day']
        .map((table) => `ALTER TABLE ${table} DISABLE TRIGGER USER`)
        .join('; ')}; TRUNCATE generation, ledger, key_usage_day`,
    ),
  );
  const client = await connect(address);
  const beganMs = performance.now();
  for (let done = 0; done < rowsWanted; done += 500) await settleBatch(client, batch(500, systemClock.now()));
  print(
    `settlements/s while filling ${rowsWanted.toLocaleString('en')}`,
    rowsWanted / ((performance.now() - beganMs) / 1000),
  );
  await client.query('VACUUM ANALYZE');
  const count = Number(await one<bigint>(database, 'SELECT count(*) AS value FROM generation'));
  const partitions = "(SELECT inhrelid FROM pg_inherits WHERE inhparent = 'generation'::regclass)";
  const bytes = async (sql: string): Promise<number> =>
    Number(await one<bigint | string>(database, `SELECT ${sql} AS value`)) / count;
  print(
    'bytes a generation: row',
    (await bytes(`(SELECT sum(pg_table_size(inhrelid)) FROM ${partitions} p)`)).toFixed(0),
  );
  print(
    'bytes a generation: index',
    (await bytes(`(SELECT sum(pg_indexes_size(inhrelid)) FROM ${partitions} p)`)).toFixed(0),
  );
  print('bytes a generation: ledger entry', (await bytes("pg_table_size('ledger')")).toFixed(0));
  print('bytes a generation: indexes of the ledger', (await bytes("pg_indexes_size('ledger')")).toFixed(0));
  print(
    'bytes a row of key_usage_day, indexes included',
    Number(
      await one<bigint>(
        database,
        "SELECT pg_total_relation_size('key_usage_day') / greatest(1, count(*)) AS value FROM key_usage_day",
      ),
    ),
  );
  const walBefore = await one<string>(database, 'SELECT pg_current_wal_lsn()::text AS value');
  for (let n = 0; n < 20; n += 1) await settleBatch(client, batch(500, systemClock.now()));
  print(
    'bytes a settlement: WAL',
    Number(
      await one<string>(
        database,
        `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '${walBefore}')::text AS value`,
      ),
    ) / 10_000,
  );
  const [partition] = await database.query<{ name: string }>(
    `SELECT inhrelid::regclass::text AS name FROM ${partitions} p WHERE pg_table_size(inhrelid) > 100000 LIMIT 1`,
  );
  if (partition !== undefined) {
    const dropMs = performance.now();
    await client.query(`ALTER TABLE generation DETACH PARTITION ${partition.name}`);
    await client.query(`DROP TABLE ${partition.name}`);
    print(
      `retention: ms to drop a partition of ${count.toLocaleString('en')}`,
      (performance.now() - dropMs).toFixed(1),
    );
  }
  await client.end();
}

async function changes(database: Database): Promise<void> {
  const beganMs = performance.now();
  let done = 0;
  while (performance.now() - beganMs < seconds * 1000)
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        await database.transaction((sql) => recordChange(sql, 'key', 1));
        done += 1;
      }),
    );
  print('change events/s', done / ((performance.now() - beganMs) / 1000));
}

async function shares(address: DatabaseAddress): Promise<void> {
  const won = 1_000_000n;
  for (const count of [2, 8, 16]) {
    const spent = await spendTogether(address, count, 20_000n * won, 5n * won);
    const { requests, questions, far, overspent } = spent;
    print(
      `shares: ${count} nodes, 20,000 won by 5: requests, questions`,
      `${requests}, ${questions} (${far} before the last tenth)`,
    );
    if (overspent > 0n) missed.push('shares overspent');
  }
}

process.exit(await main());

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'naru-scale-'));
  const server = await startTestServer((line) => process.stderr.write(`bench: ${line}\n`));
  const address = { ...server.connection, database: templateDatabase };
  const database = new Database(address);
  try {
    print(
      'machine',
      `${cpus().length} cores, load ${loadavg()
        .map((each) => each.toFixed(1))
        .join(' ')}`,
    );
    await ensurePartitions(database, systemClock.now());
    await database.transaction((sql) =>
      sql.query(
        `WITH a AS (INSERT INTO account (name, created_at) SELECT 'a' || n, now() FROM generate_series(1, ${ACCOUNTS}) n RETURNING id)
         INSERT INTO account_balance (account_id, balance, credits, usage, entries, version) SELECT id, 4000000000000000, 4000000000000000, 0, 0, 1 FROM a`,
      ),
    );
    const { open, final } = journalBytes(systemClock.now());
    print('bytes a request: journal (OPEN + FINAL)', `${open + final} (${open} + ${final})`);
    const known = await memoryOfKnown();
    print('bytes of memory a known account', known.account);
    print('bytes of memory a known key', known.key);
    await rates(database, address, folder);
    await changes(database);
    await shares(address);
    await sizes(database, address);
  } finally {
    await database.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  for (const each of missed) print('MISSED', each);
  return missed.length === 0 ? 0 : 1;
}
