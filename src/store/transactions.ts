import type { Sql } from './sql.ts';

/**
 * Numbers above those of all transactions that have written anything so far: of this server, and of
 * each server with shards, which settlements may use directly.
 */
export function nextTransactions(sql: Sql): Promise<readonly bigint[]> {
  return onServers(sql, 'SELECT pg_current_xact_id()::text AS id');
}

/** Whether every transaction with a number below these has ended, at its server. */
export async function haveEnded(sql: Sql, numbers: readonly bigint[]): Promise<boolean> {
  const oldest = await onServers(sql, 'SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS id');
  return oldest.length === numbers.length && oldest.every((each, at) => each >= (numbers[at] ?? each));
}

async function onServers(sql: Sql, read: string): Promise<readonly bigint[]> {
  const own = await sql.query<{ id: string }>(read);
  const [engine] = await sql.query<{ distributes: boolean }>(
    "SELECT to_regclass('pg_dist_node') IS NOT NULL AS distributes",
  );
  if (engine?.distributes !== true) return own.map(({ id }) => BigInt(id));
  const others = await sql.query<{ success: boolean; result: string }>(
    'SELECT success, result FROM run_command_on_workers($1) ORDER BY nodename, nodeport',
    [read],
  );
  const failed = others.find(({ success }) => !success);
  if (failed !== undefined) throw new Error(`a server of the cluster did not respond: ${failed.result}`);
  return [...own.map(({ id }) => BigInt(id)), ...others.map(({ result }) => BigInt(result))];
}
