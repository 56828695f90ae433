import { recordChange } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import { nodeLives } from './nodes-sql.ts';

/** How far a node is with a flush request. */
export interface FlushState {
  /** Identifies its data directory. */
  readonly home: string;
  readonly address: string;
  readonly lives: boolean;
  readonly isDone: boolean;
  /** How long ago it was last seen, by the database's clock. */
  readonly silentMs: number;
}

/**
 * Requests that every node brings into the database what it has settled until now; returns the
 * number of the request.
 */
export function requestFlush(database: Database): Promise<number> {
  return database.transaction(async (sql) => {
    await sql.query("DELETE FROM flush_answer WHERE answered_at < now() - interval '1 day'");
    await sql.query("DELETE FROM flush_request WHERE asked_at < now() - interval '1 day'");
    const [row] = await sql.query<{ id: bigint }>('INSERT INTO flush_request DEFAULT VALUES RETURNING id');
    if (row === undefined) throw new Error('INSERT INTO flush_request returned no row');
    await recordChange(sql, 'flush', Number(row.id));
    return Number(row.id);
  });
}

/** Records that the node of a data directory has flushed. */
export async function confirmFlush(database: Database, requestId: number, home: string): Promise<void> {
  await database.transaction((sql) =>
    sql.query('INSERT INTO flush_answer (request_id, home) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      requestId,
      home,
    ]),
  );
}

/**
 * Every live node, and every lost one whose journal may hold charges, and whether it has flushed.
 */
export async function readFlush(sql: Sql, requestId: number): Promise<readonly FlushState[]> {
  const rows = await sql.query<{
    home: string;
    address: string;
    lives: boolean;
    is_done: boolean;
    silent_ms: number;
  }>(
    `SELECT n.home, n.address, ${nodeLives} AS lives, a.home IS NOT NULL AS is_done,
            (extract(epoch FROM now() - n.seen_at) * 1000)::float8 AS silent_ms
     FROM gateway_node n LEFT JOIN flush_answer a ON a.request_id = $1 AND a.home = n.home
     WHERE ${nodeLives} OR n.keeps_charges ORDER BY n.id`,
    [requestId],
  );
  return rows.map(({ is_done, silent_ms, ...row }) => ({ ...row, isDone: is_done, silentMs: silent_ms }));
}
