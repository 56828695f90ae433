import type { Database } from '../../src/store/database.ts';
import type { ShardServer } from '../../src/store/placement/shards.ts';

/** Makes a database state, as Citus does, that each of two servers has half of its shards. */
export async function stateCluster(database: Database, servers: readonly ShardServer[]): Promise<void> {
  await database.query(
    'CREATE TABLE pg_dist_shard AS SELECT * FROM (VALUES (1, $1), (2, $2)) s (shardid, shardminvalue), LATERAL (SELECT $3::regclass AS logicalrelid) r',
    [String(-(2 ** 31)), '0', 'account_balance'],
  );
  await database.query(
    'CREATE TABLE pg_dist_placement AS SELECT * FROM (VALUES (1, 1), (2, 2)) p (shardid, groupid)',
  );
  await database.query(
    `CREATE TABLE pg_dist_node AS SELECT groupid, nodename, nodeport, true AS isactive, true AS metadatasynced, 'primary' AS noderole
     FROM (VALUES (1, $1, $2::int), (2, $3, $4::int)) n (groupid, nodename, nodeport)`,
    servers.flatMap(({ host, port }) => [host, port]),
  );
}
