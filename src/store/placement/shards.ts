import { hashOfAccount } from '../../wire/ids/account-hash.ts';
import type { Sql } from '../sql.ts';

/**
 * Which accounts Citus stores together: a transaction within one shard costs a fraction of one over
 * several.
 */
export interface Shards {
  readonly count: number;
  /** The shard of an account: a number below `count`. */
  of(accountId: number): number;
  /** The server that has a shard and takes statements for it; null: the one that we are on. */
  serverOf(shard: number): ShardServer | null;
}

/** A server of the cluster, by the name that the cluster has for it. */
export interface ShardServer {
  readonly host: string;
  readonly port: number;
}

/** A server as it is named to operators. */
export function nameOf({ host, port }: ShardServer): string {
  return `${host}:${port}`;
}

/** A server of the cluster with the shards that it has. */
export interface ServerWithShards extends ShardServer {
  readonly shards: readonly number[];
}

/** The servers that have shards. */
export function serversOf(shards: Shards): readonly ServerWithShards[] {
  const servers = new Map<string, ServerWithShards & { readonly shards: number[] }>();
  for (let shard = 0; shard < shards.count; shard += 1) {
    const server = shards.serverOf(shard);
    if (server === null) continue;
    const known = servers.get(nameOf(server)) ?? { ...server, shards: [] };
    known.shards.push(shard);
    servers.set(nameOf(server), known);
  }
  return [...servers.values()];
}

/** Whether every shard is where it was. */
export function isSamePlacement(one: Shards, other: Shards): boolean {
  const placement = (shards: Shards): string => JSON.stringify(serversOf(shards));
  return one.count === other.count && placement(one) === placement(other);
}

/** The shards of the tables of accounts; null when the engine distributes nothing. */
export async function readShards(sql: Sql): Promise<Shards | null> {
  if (!(await hasShards(sql))) return null;
  const rows = await sql.query<{ from: number; host: string | null; port: number | null }>(
    `SELECT s.shardminvalue::int AS "from", n.nodename AS host, n.nodeport AS port
     FROM pg_dist_shard s JOIN pg_dist_placement p ON p.shardid = s.shardid
     LEFT JOIN pg_dist_node n ON n.groupid = p.groupid AND n.groupid <> 0 AND n.isactive AND n.metadatasynced
       AND n.noderole = 'primary'
     WHERE s.logicalrelid = 'account_balance'::regclass AND s.shardminvalue IS NOT NULL ORDER BY 1`,
  );
  const servers = rows.map(({ host, port }) => (host === null || port === null ? null : { host, port }));
  return rows.length === 0
    ? null
    : shardsFrom(
        rows.map(({ from }) => from),
        servers,
      );
}

/** Whether the engine can distribute tables. */
export async function hasShards(sql: Sql): Promise<boolean> {
  const [engine] = await sql.query<{ distributes: boolean }>(
    "SELECT to_regclass('pg_dist_shard') IS NOT NULL AS distributes",
  );
  return engine?.distributes === true;
}

/** Shards that begin at these hashes, in order; each ends where the next one begins. */
export function shardsFrom(starts: readonly number[], servers: readonly (ShardServer | null)[] = []): Shards {
  return {
    count: starts.length,
    serverOf: (shard) => servers[shard] ?? null,
    of(accountId) {
      const hash = hashOfAccount(accountId);
      let [low, high] = [0, starts.length];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if ((starts[middle] ?? 0) <= hash) low = middle;
        else high = middle;
      }
      return low;
    },
  };
}
