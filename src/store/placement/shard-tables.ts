import type { Client } from 'pg';
import { OperatorError } from '../../errors/operator-error.ts';
import { addressAt, connect, type DatabaseAddress, disconnect } from '../connection.ts';
import type { Sql } from '../sql.ts';
import { hasShards, nameOf, type ShardServer } from './shards.ts';

/** The tables of one shard, as the server that has it names them. */
export interface ShardTables {
  /** Of all shards, in the order of their hashes. */
  readonly shard: number;
  /** The table of the shard in SQL, by the name of the distributed one. */
  readonly tables: ReadonlyMap<string, string>;
  /** The shard's part of the partition that was asked for. */
  readonly partition: string | null;
}

/** A server with the shards that it has. */
export interface ServerTables {
  /** Null: the coordinator itself. */
  readonly server: ShardServer | null;
  readonly shards: readonly ShardTables[];
}

/**
 * The shards of all distributed tables by server; none where the engine distributes nothing.
 * Partitions are read through their tables: only the name of `partition` is among the results.
 */
export async function readShardTables(
  sql: Sql,
  partition: string | null = null,
): Promise<readonly ServerTables[]> {
  if (!(await hasShards(sql))) return [];
  const rows = await sql.query<{
    table: string;
    name: string;
    shard: bigint;
    host: string | null;
    port: number | null;
  }>(
    `SELECT c.relname AS table, shard_name(s.logicalrelid, s.shardid) AS name,
       row_number() OVER (PARTITION BY s.logicalrelid ORDER BY s.shardminvalue::int) - 1 AS shard, n.nodename AS host, n.nodeport AS port
     FROM pg_dist_shard s JOIN pg_class c ON c.oid = s.logicalrelid AND (NOT c.relispartition OR c.relname = $1)
     JOIN pg_dist_placement p ON p.shardid = s.shardid
     LEFT JOIN pg_dist_node n ON n.groupid = p.groupid AND n.groupid <> 0 AND n.noderole = 'primary'
     WHERE s.shardminvalue IS NOT NULL AND c.relnamespace = current_schema()::regnamespace ORDER BY 5, 4, 3, 1`,
    [partition],
  );
  const servers = Map.groupBy(rows, ({ host, port }) =>
    host === null ? '' : nameOf({ host, port: port ?? 0 }),
  );
  return [...servers.values()].map((own) => ({
    server: own[0]?.host == null || own[0].port === null ? null : { host: own[0].host, port: own[0].port },
    shards: [...Map.groupBy(own, ({ shard }) => Number(shard))].map(([shard, tables]) => ({
      shard,
      tables: new Map(
        tables.filter(({ table }) => table !== partition).map(({ table, name }) => [table, name]),
      ),
      partition: tables.find(({ table }) => table === partition)?.name ?? null,
    })),
  }));
}

/**
 * Opens a connection to a server of the cluster; `limitMs` bounds its statements. Throws an
 * `OperatorError` when it does not respond.
 */
export async function connectTo(
  address: DatabaseAddress,
  { server, shards }: ServerTables,
  limitMs: number | null = null,
): Promise<Client> {
  try {
    return await connect(server === null ? address : addressAt(address, server), limitMs, false);
  } catch (error) {
    const { message } = error as Error;
    throw new OperatorError(
      `${server === null ? 'the coordinator' : nameOf(server)}, which has ${shards.length} shards of the accounts, does not respond: ${message}`,
    );
  }
}

/** Opens a connection to each server, or to none: closes them when one does not respond. */
export async function connectToAll(
  address: DatabaseAddress,
  servers: readonly ServerTables[],
): Promise<readonly Client[]> {
  const opened = await Promise.allSettled(servers.map((server) => connectTo(address, server)));
  const clients = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = opened.find((one) => one.status === 'rejected');
  if (failed === undefined) return clients;
  await Promise.all(clients.map(disconnect));
  throw failed.reason;
}
