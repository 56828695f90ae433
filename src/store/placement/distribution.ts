import { OperatorError } from '../../errors/operator-error.ts';
import type { Sql } from '../sql.ts';

/**
 * The tables that belong to accounts: each of their unique indexes contains `account_id`, as an engine
 * demands of tables that it distributes by it. All rows of an account are in one shard.
 */
export async function readAccountTables(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id' AND NOT a.attisdropped
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND (SELECT bool_and(a.attnum = ANY (i.indkey)) FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique) ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

/** Tables that a settlement reads at the server of its shard: every server has them. */
const referenceTables = ['pruned_month', 'pruning_month'];

/** What distributes the tables of a database. */
interface Cluster {
  /** The version of Citus; null: the engine distributes nothing. */
  readonly engine: string | null;
  /** Servers that take shards. */
  readonly servers: number;
  readonly isDistributed: boolean;
}

async function readCluster(sql: Sql): Promise<Cluster> {
  const [extension] = await sql.query<{ version: string }>(
    "SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'",
  );
  if (extension === undefined) return { engine: null, servers: 0, isDistributed: false };
  const [row] = await sql.query<{ servers: bigint; distributed: bigint }>(
    `SELECT (SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards AND noderole = 'primary') AS servers,
       (SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = 'account_balance'::regclass) AS distributed`,
  );
  return {
    engine: `Citus ${extension.version}`,
    servers: Number(row?.servers ?? 0n),
    isDistributed: (row?.distributed ?? 0n) > 0n,
  };
}

/**
 * Distributes the tables of accounts by account, all shards of an account on one server, and gives
 * every server those that settlements share; tables that are distributed stay as they are. Run in a
 * transaction. The triggers that keep the books are those of each shard afterwards.
 */
export async function distributeTables(sql: Sql): Promise<void> {
  await sql.query('SET LOCAL citus.enable_unsafe_triggers TO on');
  await sql.query("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'");
  const distributed = await sql.query<{ name: string }>(
    'SELECT c.relname AS name FROM pg_dist_partition d JOIN pg_class c ON c.oid = d.logicalrelid',
  );
  const names = new Set(distributed.map(({ name }) => name));
  for (const table of referenceTables)
    if (!names.has(table)) await sql.query('SELECT create_reference_table($1)', [table]);
  if (!names.has('account')) await sql.query("SELECT create_distributed_table('account', 'id')");
  for (const table of await readAccountTables(sql))
    if (!names.has(table))
      await sql.query("SELECT create_distributed_table($1, 'account_id', colocate_with => 'account')", [
        table,
      ]);
}

/** Throws an `OperatorError` when the tables cannot be distributed, or are already. */
export async function assertDistributable(sql: Sql): Promise<void> {
  const { engine, servers, isDistributed } = await readCluster(sql);
  if (engine === null)
    throw new OperatorError('the database has no extension citus: docs/scale.md states how to install it');
  if (servers === 0)
    throw new OperatorError('no server of the cluster takes shards: add one with citus_add_node');
  if (isDistributed) throw new OperatorError('the database is distributed already');
}

/** Distributes the tables that a migration has added; does nothing where nothing is distributed. */
export async function distributeNewTables(sql: Sql): Promise<void> {
  if ((await readCluster(sql)).isDistributed) await distributeTables(sql);
}

/** The tables that the engine guards and numbers in each shard by itself; none where there is none. */
export async function distributedTables(sql: Sql): Promise<readonly string[]> {
  if (!(await readCluster(sql)).isDistributed) return [];
  const rows = await sql.query<{ name: string }>(
    'SELECT logicalrelid::regclass::text AS name FROM pg_dist_partition',
  );
  return rows.map(({ name }) => name);
}

/** One shard of the accounts, and where it is. */
interface PlacedShard {
  /** Of all shards, in the order of their hashes. */
  readonly number: number;
  readonly server: string;
  /** The bytes of all its tables, indexes included. */
  readonly bytes: number;
}

/** How the tables of accounts are stored. */
export interface DatabaseStatus extends Cluster {
  readonly shards: readonly PlacedShard[];
}

/** Fails while one of the servers is away. */
export async function readStatus(sql: Sql): Promise<DatabaseStatus> {
  const cluster = await readCluster(sql);
  if (!cluster.isDistributed) return { ...cluster, shards: [] };
  const rows = await sql.query<{ number: bigint; server: string; bytes: bigint }>(
    `WITH own AS (
       SELECT s.logicalrelid, s.shardid, row_number() OVER (PARTITION BY s.logicalrelid ORDER BY s.shardminvalue::int) AS number
       FROM pg_dist_shard s WHERE s.shardminvalue IS NOT NULL)
     SELECT own.number, format('%s:%s', c.nodename, c.nodeport) AS server, sum(c.shard_size)::bigint AS bytes
     FROM own JOIN citus_shards c ON c.shardid = own.shardid GROUP BY 1, 2 ORDER BY 1`,
  );
  const shards = rows.map(({ number, server, bytes }) => ({
    number: Number(number),
    server,
    bytes: Number(bytes),
  }));
  return { ...cluster, shards };
}
