import { nameOf, type ShardServer } from './shards.ts';
import type { Sql } from './sql.ts';

/**
 * The commits of two phases that a server of a cluster has prepared and not finished, by name. The
 * coordinator announces a change as soon as it has committed itself: its rows on that server are
 * visible once its name is not among these. Throws when the server does not respond.
 */
export async function readCommitsUnderWay(sql: Sql, server: ShardServer): Promise<ReadonlySet<string>> {
  const [row] = await sql.query<{ success: boolean; result: string }>(
    `SELECT success, result FROM master_run_on_worker(ARRAY[$1::text], ARRAY[$2::int],
       ARRAY['SELECT coalesce(json_agg(gid), ''[]'') FROM pg_prepared_xacts WHERE database = current_database()'], false)`,
    [server.host, server.port],
  );
  if (row?.success !== true) throw new Error(`${nameOf(server)} does not respond: ${row?.result ?? ''}`);
  return new Set(JSON.parse(row.result) as readonly string[]);
}
