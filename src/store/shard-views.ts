import type { Client } from 'pg';
import { disconnect } from './connection.ts';
import type { Database } from './database.ts';
import {
  connectTo,
  connectToAll,
  readShardTables,
  type ServerTables,
  type ShardTables,
} from './shard-tables.ts';
import { begin, commit, rollback, type Sql, sqlOver } from './sql.ts';
import { together } from './together.ts';

/**
 * Calls `work` for each shard with one instant of it, at the server that has it: the tables of
 * accounts have the rows of the shard, and each of `copied`, tables of the coordinator, the rows
 * that it has by then. Servers work at the same time, the shards of one after another.
 * Rejects when one fails, once the others have stopped.
 */
export async function eachShard(
  database: Database,
  copied: readonly string[],
  work: (sql: Sql, shard: number) => Promise<void>,
): Promise<void> {
  const servers = await readShardTables(database);
  await together(servers, (server, signal) =>
    withServer(database, server, async (client) => {
      const sql = sqlOver(client);
      for (const table of copied) await sql.query(await temporaryTable(database, table));
      for (const one of server.shards) {
        signal.throwIfAborted();
        await showShards(client, [one]);
        await freeze(sql);
        // After the instant of the shard: they have all that its rows refer to.
        for (const table of copied) await copyRows(database, sql, table);
        await work(sql, one.shard);
        await rollback(sql);
      }
    }),
  );
}

/**
 * Calls `work` in a transaction of each shard, at the server that has it. The tables of accounts are
 * those of the shard, which `shard` names, with its part of `partition`. The cluster does not see
 * what is changed. Servers work at the same time, the shards of one after another.
 * Rejects when one fails, once the others have stopped; what earlier shards committed stays.
 */
export async function changeShards(
  database: Database,
  partition: string,
  work: (sql: Sql, shard: ShardTables) => Promise<void>,
): Promise<void> {
  const servers = await readShardTables(database, partition);
  await together(servers, (server, signal) =>
    withServer(database, server, async (client) => {
      const sql = sqlOver(client);
      await sql.query('SET citus.enable_manual_changes_to_shards TO on');
      for (const one of server.shards) {
        signal.throwIfAborted();
        await showShards(client, [one]);
        await begin(sql);
        await work(sql, one);
        await commit(sql);
      }
    }),
  );
}

/**
 * What `read` yields of each server with shards, in the order of `compare`, in which each server
 * yields it too: the tables of accounts have the rows of all shards of the server, at one instant.
 * Servers work at the same time. Where the engine distributes nothing, it is what `read` yields of
 * the database.
 */
export async function* mergeServers<T>(
  database: Database,
  read: (sql: Sql) => AsyncGenerator<T>,
  compare: (a: T, b: T) => number,
): AsyncGenerator<T> {
  const servers = await readShardTables(database);
  if (servers.length === 0) return yield* read(database);
  const clients = await connectToAll(database.address, servers);
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

async function withServer(
  database: Database,
  server: ServerTables,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const client = await connectTo(database.address, server);
  try {
    await work(client);
  } finally {
    await disconnect(client);
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
 * Gives the tables of accounts the rows of these shards, for this session: temporary views hide the
 * tables. The cluster does not distribute them.
 */
export async function showShards(client: Client, shards: readonly ShardTables[]): Promise<void> {
  await client.query('SET citus.enable_ddl_propagation TO off');
  for (const table of shards[0]?.tables.keys() ?? []) {
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
