/**
 * What a settlement costs on a Citus cluster of this machine, beside plain PostgreSQL on its
 * coordinator's server, in alternating rounds:
 *
 *   npm run bench:cluster -- --coordinator URL --workers HOST:PORT,… [--seconds 4 --rounds 3]
 *
 * Settlements a second with a queue for each shard, processor time of all servers for one, and
 * whether any transaction was prepared. Exits 1 when a goal is missed. The user of the URL creates
 * and drops two databases.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { StoredApps } from '../src/generations/apps-sql.ts';
import { ensurePartitions } from '../src/generations/partitions.ts';
import { type SettlementRow, settleBatch } from '../src/ledger/settlement-sql.ts';
import type { DatabaseAddress } from '../src/store/connection.ts';
import { Database } from '../src/store/database.ts';
import { migrate } from '../src/store/migrate.ts';
import { systemClock } from '../src/time/clock.ts';
import {
  addressOf,
  createDistributed,
  dropDistributed,
  workersOf,
  workersVariable,
} from '../test/harness/citus.ts';
import { cpuMsOf } from './cpu.ts';
import { median } from './median.ts';
import { ACCOUNTS, settlement } from './scale-rows.ts';

const { values } = parseArgs({
  options: {
    coordinator: { type: 'string' },
    workers: { type: 'string' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
  },
});
if (values.coordinator === undefined || values.workers === undefined)
  throw new Error('state --coordinator URL and --workers HOST:PORT,HOST:PORT');
const coordinator = addressOf(values.coordinator);
const workers = workersOf(values.workers, coordinator);
process.env[workersVariable] = JSON.stringify(workers);
const servers = [coordinator, ...workers];
const batchSize = 500;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

interface Round {
  readonly perSecond: number;
  readonly serverUs: number;
}

async function read<T>(address: DatabaseAddress, database: string, text: string): Promise<T> {
  const client = new Client({ ...address, database });
  await client.connect();
  const { rows } = await client.query<{ value: T }>(text);
  await client.end();
  return rows[0]?.value as T;
}

/** The processes of all servers of the cluster. */
async function postmasters(): Promise<readonly number[]> {
  const folders = servers.map((server) =>
    read<string>(server, 'postgres', "SELECT current_setting('data_directory') AS value"),
  );
  return (await Promise.all(folders)).map((folder) =>
    Number(readFileSync(`${folder}/postmaster.pid`, 'utf8').split('\n')[0]),
  );
}

async function fill(database: Database): Promise<void> {
  await ensurePartitions(database, systemClock.now());
  await database.query(
    `INSERT INTO account (name, created_at) SELECT 'a', now() FROM generate_series(1, ${ACCOUNTS})`,
  );
  await database.query(
    'INSERT INTO account_balance (account_id, balance, credits) SELECT id, 1e15, 1e15 FROM account',
  );
  await database.readShards();
}

/** Settles with a queue for each shard, all of them at once. */
async function settleFor(database: Database, pids: readonly number[], seconds: number): Promise<Round> {
  const { shards } = database;
  const accounts = Map.groupBy(
    Array.from({ length: ACCOUNTS }, (_, n) => n + 1),
    (id) => shards.of(id),
  );
  const storedApps = new StoredApps();
  const endMs = performance.now() + seconds * 1000;
  const cpuMs = (): number => pids.reduce((sum, pid) => sum + (cpuMsOf(pid) ?? 0), 0);
  const [beganMs, before] = [performance.now(), cpuMs()];
  let done = 0;
  await Promise.all(
    [...accounts.values()].map(async (ids) => {
      while (performance.now() < endMs) {
        const nowMs = systemClock.now();
        const rows = Array.from(
          { length: batchSize },
          (): SettlementRow => settlement(ids[Math.floor(Math.random() * ids.length)] ?? 1, nowMs),
        );
        await database.settle(rows[0]?.accountId ?? 0, (client) =>
          settleBatch(client, rows, { storedApps, nowMs }),
        );
        done += batchSize;
      }
    }),
  );
  const perSecond = (done * 1000) / (performance.now() - beganMs);
  return { perSecond, serverUs: ((cpuMs() - before) * 1000) / done };
}

/** Transactions that were prepared on the servers since their last recovery, and are now. */
async function prepared(name: string): Promise<number> {
  const counts = servers.flatMap((server) => [
    read<string>(server, name, 'SELECT count(*) AS value FROM pg_dist_transaction'),
    read<string>(
      server,
      name,
      'SELECT count(*) AS value FROM pg_prepared_xacts WHERE database = current_database()',
    ),
  ]);
  return (await Promise.all(counts)).reduce((sum, count) => sum + Number(count), 0);
}

const suffix = randomBytes(4).toString('hex');
const [plainName, clusterName] = [`bench_plain_${suffix}`, `bench_cluster_${suffix}`];
const admin = async (text: string): Promise<void> => {
  const client = new Client({ ...coordinator, database: 'postgres' });
  await client.connect();
  await client.query('SET citus.enable_ddl_propagation TO off');
  await client.query(text);
  await client.end();
};
const missed: string[] = [];
const goal = (name: string, value: number, isMet: boolean, wanted: string): void => {
  print(`${name.padEnd(62)}${value.toFixed(2)} (goal ${wanted})`);
  if (!isMet) missed.push(name);
};
await admin(`CREATE DATABASE ${plainName}`);
await createDistributed(coordinator, clusterName, 32);
const plain = new Database({ ...coordinator, database: plainName }, 2);
const cluster = new Database({ ...coordinator, database: clusterName }, 2);
try {
  await migrate(plain);
  for (const database of [plain, cluster]) await fill(database);
  const pids = await postmasters();
  for (const database of [plain, cluster]) await settleFor(database, pids, 2);
  const rounds = { plain: [] as Round[], cluster: [] as Round[] };
  let preparedMost = 0;
  for (let round = 0; round < Number(values.rounds); round += 1) {
    rounds.plain.push(await settleFor(plain, pids, Number(values.seconds)));
    // Forgets what other statements prepared.
    for (const server of servers)
      await read(server, clusterName, 'SELECT recover_prepared_transactions() AS value');
    const before = await prepared(clusterName);
    rounds.cluster.push(await settleFor(cluster, pids, Number(values.seconds)));
    preparedMost = Math.max(preparedMost, (await prepared(clusterName)) - before);
  }
  for (const [name, found] of Object.entries(rounds)) {
    const rates = found.map(({ perSecond }) => perSecond.toFixed(0));
    const costs = found.map(({ serverUs }) => serverUs.toFixed(0));
    print(`${name.padEnd(10)} settlements/s ${rates.join(', ')}; CPU µs of the servers ${costs.join(', ')}`);
  }
  const of = (name: keyof typeof rounds, what: keyof Round): number =>
    median(rounds[name].map((round) => round[what]));
  const cost = of('cluster', 'serverUs') / of('plain', 'serverUs');
  const rate = of('cluster', 'perSecond') / of('plain', 'perSecond');
  goal('CPU of a settlement, distributed / plain', cost, cost <= 2.5, '2.5 at most');
  goal(`settlements/s with ${cluster.shards.count} queues, distributed / plain`, rate, rate >= 0.5, '0.5');
  goal('prepared transactions', preparedMost, preparedMost === 0, '0');
  print(`load average ${loadavg()[0]?.toFixed(1)}`);
} finally {
  await plain.close();
  await cluster.close();
  await admin(`DROP DATABASE IF EXISTS ${plainName} WITH (FORCE)`);
  await dropDistributed(coordinator, clusterName);
}
if (missed.length > 0) print(`MISSED: ${missed.join('; ')}`);
process.exit(missed.length === 0 ? 0 : 1);
