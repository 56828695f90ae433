import type { Client } from 'pg';
import { type DatabaseAddress, disconnect, statementTimeoutMs } from '../connection.ts';
import { begin, commit, rollback, type Sql, sqlOver } from '../sql.ts';
import { together } from '../together.ts';
import type { WorkLimits } from './placement.ts';
import type { PlacementParts } from './placement-parts.ts';
import {
  connectTo,
  connectToAll,
  readShardTables,
  type ServerTables,
  type ShardTables,
} from './shard-tables.ts';
import type { ShardServer } from './shards.ts';

type Cluster = Pick<PlacementParts, 'address' | 'database'>;

const cancelWithinMs = 5_000;

/**
 * Calls `work` for each shard with one instant of it, at the server that has it: the tables of
 * accounts have the rows of the shard, and each of `copied`, tables of the coordinator, the rows
 * that it has by then. Servers work at the same time, the shards of one after another.
 * Rejects when one fails, once the others have stopped.
 */
export async function eachShard(
  cluster: Cluster,
  { copied, ...limits }: WorkLimits & { readonly copied: readonly string[] },
  work: (sql: Sql, shard: number) => Promise<void>,
): Promise<void> {
  const { database } = cluster;
  await atServers(cluster, await readShardTables(database), limits, async (client, { shards }, signal) => {
    const sql = sqlOver(client);
    for (const table of copied) await sql.query(await temporaryTable(database, table));
    for (const one of shards) {
      signal.throwIfAborted();
      await showShards(client, [one]);
      await freeze(sql);
      // After the instant of the shard: they have all that its rows refer to.
      for (const table of copied) await copyRows(database, sql, table);
      await work(sql, one.shard);
      await rollback(sql);
    }
  });
}

/**
 * Calls `work` in a transaction of each shard, at the server that has it. The tables of accounts are
 * those of the shard, which `shard` names, with its part of `partition`. The cluster does not see
 * what is changed. Servers work at the same time, the shards of one after another. Rejects when one
 * fails, once the others have stopped; what earlier shards committed stays.
 */
export async function changeShards(
  cluster: Cluster,
  {
    partition = null,
    tables,
    only = () => true,
    ...limits
  }: WorkLimits & {
    readonly partition?: string | null;
    /** Those that `work` uses. */
    readonly tables: readonly string[];
    readonly only?: (shard: number) => boolean;
  },
  work: (sql: Sql, shard: ShardTables) => Promise<void>,
): Promise<void> {
  const servers = (await readShardTables(cluster.database, partition))
    .map(({ server, shards }) => ({ server, shards: shards.filter(({ shard }) => only(shard)) }))
    .filter(({ shards }) => shards.length > 0);
  await atServers(cluster, servers, limits, async (client, { shards }, signal) => {
    const sql = sqlOver(client);
    await sql.query('SET citus.enable_manual_changes_to_shards TO on');
    for (const one of shards) {
      signal.throwIfAborted();
      await showShards(client, [one], tables);
      await begin(sql);
      await work(sql, one);
      await commit(sql);
    }
  });
}

/**
 * Calls `read` at each of these servers, at the same time: the tables have the rows of all shards of
 * the server.
 */
export async function readServers(
  cluster: Cluster,
  {
    tables,
    only,
  }: { readonly tables: readonly string[]; readonly only: (server: ShardServer | null) => boolean },
  read: (sql: Sql) => Promise<void>,
): Promise<void> {
  const servers = (await readShardTables(cluster.database)).filter(({ server }) => only(server));
  const limits = { limitMs: statementTimeoutMs };
  await atServers(cluster, servers, limits, async (client, { shards }) => {
    await showShards(client, shards, tables);
    await read(sqlOver(client));
  });
}

/**
 * What `read` yields of each server with shards, in the order of `compare`, in which each server
 * yields it too: the tables of accounts have the rows of all shards of the server, at one instant.
 * Servers work at the same time.
 */
export async function* mergeServers<T>(
  { address, database }: Cluster,
  read: (sql: Sql) => AsyncGenerator<T>,
  compare: (a: T, b: T) => number,
): AsyncGenerator<T> {
  const servers = await readShardTables(database);
  const clients = await connectToAll(address, servers);
  try {
    const streams = await Promise.all(
      servers.map(async ({ shards }, at) => {
        const client = clients[at] as Client;
        await showShards(client, shards);
        await freeze(sqlOver(client));
        return read(sqlOver(client));
      }),
    );
    yield* merge(streams, compare);
  } finally {
    await Promise.all(clients.map(disconnect));
  }
}

interface Head<T> {
  readonly stream: AsyncGenerator<T>;
  readonly value: T;
}

async function* merge<T>(
  streams: readonly AsyncGenerator<T>[],
  compare: (a: T, b: T) => number,
): AsyncGenerator<T> {
  const next = async (stream: AsyncGenerator<T>): Promise<readonly Head<T>[]> => {
    const { done, value } = await stream.next();
    return done === true ? [] : [{ stream, value }];
  };
  let heads = (await Promise.all(streams.map(next))).flat();
  for (;;) {
    const [first, ...others] = heads.sort((a, b) => compare(a.value, b.value));
    if (first === undefined) return;
    yield first.value;
    heads = [...others, ...(await next(first.stream))];
  }
}

/** Calls `work` with a connection to each server, at the same time. */
async function atServers(
  { address }: Cluster,
  servers: readonly ServerTables[],
  { limitMs = null, signal: outer }: WorkLimits,
  work: (client: Client, server: ServerTables, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const atServer = async (server: ServerTables, signal: AbortSignal): Promise<void> => {
    const client = await connectTo(address, server, limitMs);
    const [{ pid } = { pid: 0 }] = await sqlOver(client).query<{ pid: number }>(
      'SELECT pg_backend_pid() AS pid',
    );
    const cancel = (): void => void cancelBackend(address, server, pid);
    signal.addEventListener('abort', cancel);
    try {
      await work(client, server, signal);
    } finally {
      signal.removeEventListener('abort', cancel);
      await disconnect(client);
    }
  };
  await together(servers, atServer, outer);
}

/** Cancels the statement of a connection to a server, if it runs one. Never rejects. */
async function cancelBackend(address: DatabaseAddress, server: ServerTables, pid: number): Promise<void> {
  try {
    const client = await connectTo(address, server, cancelWithinMs);
    await client.query('SELECT pg_cancel_backend($1::int)', [pid]).finally(() => disconnect(client));
  } catch {
    // The server is away: its statement fails too.
  }
}

/**
 * Begins a transaction that sees the server as it is now, whatever others commit meanwhile.
 * `keepsRecords`: no month of generations is dropped here until it ends.
 */
export async function freeze(sql: Sql, keepsRecords = true): Promise<void> {
  await begin(sql);
  await sql.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
  // Before the instant: a partition that is dropped after it would be missing, and its sums too.
  if (keepsRecords) await sql.query('LOCK TABLE generation IN ACCESS SHARE MODE');
  await sql.query('SELECT 1');
}

/**
 * Gives the tables of accounts (`only` some) the rows of these shards, for this session: temporary
 * views hide the tables. The cluster does not distribute them.
 */
export async function showShards(
  client: Client,
  shards: readonly ShardTables[],
  only?: readonly string[],
): Promise<void> {
  await client.query('SET citus.enable_ddl_propagation TO off');
  for (const table of only ?? shards[0]?.tables.keys() ?? []) {
    const rows = shards.map(({ tables }) => `SELECT * FROM ${tables.get(table)}`).join(' UNION ALL ');
    await client.query(`CREATE OR REPLACE TEMPORARY VIEW ${table} AS ${rows}`);
  }
}

/** The statement that creates a temporary table with the columns of one of the coordinator's. */
async function temporaryTable(sql: Sql, table: string): Promise<string> {
  const columns = await sql.query<{ name: string; type: string }>(
    `SELECT quote_ident(attname) AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [table],
  );
  return `CREATE TEMPORARY TABLE ${table} (${columns.map(({ name, type }) => `${name} ${type}`).join(', ')})`;
}

async function copyRows(from: Sql, to: Sql, table: string): Promise<void> {
  const [rows] = await from.query<{ text: string | null }>(
    `SELECT json_agg(t)::text AS text FROM ${table} t`,
  );
  if (rows?.text == null) return;
  await to.query(`INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`, [
    rows.text,
  ]);
}
