import type { Sql } from './sql.ts';

/** How far the server and its standbys are. Positions are bytes of the write-ahead log. */
export interface Replication {
  /**
   * The cluster and its timeline; null on a standby. A promotion and a recovery to a point in time
   * begin another timeline.
   */
  readonly history: string | null;
  /** What was committed before the query is before this position; null on a standby. */
  readonly position: bigint | null;
  /**
   * How far each physical standby has flushed, absent ones with a replication slot included; null:
   * this role may not read it.
   */
  readonly standbys: readonly (bigint | null)[];
}

const origin = `'0/0'::pg_lsn`;

const question = `
SELECT CASE WHEN NOT pg_is_in_recovery() THEN
         (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)
       END AS history,
       CASE WHEN NOT pg_is_in_recovery() THEN (pg_current_wal_flush_lsn() - ${origin})::bigint END AS position,
       (SELECT coalesce(string_agg(coalesce(flushed::text, '?'), ','), '') FROM (
          SELECT (r.flush_lsn - ${origin})::bigint AS flushed FROM pg_stat_replication r
          WHERE r.state IS DISTINCT FROM 'backup'
            AND NOT EXISTS (SELECT 1 FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')
          UNION ALL
          SELECT (restart_lsn - ${origin})::bigint FROM pg_replication_slots
          WHERE slot_type = 'physical' AND NOT active AND wal_status IS DISTINCT FROM 'lost'
        ) f) AS standbys`;

/**
 * Queries the server; null when it does not support the query, or denies it to this role. Throws
 * when it is away.
 */
export async function readReplication(sql: Sql): Promise<Replication | null> {
  try {
    const [row] = await sql.query<{ history: string | null; position: bigint | null; standbys: string }>(
      question,
    );
    if (row === undefined) return null;
    const { history, position, standbys } = row;
    const flushed = standbys === '' ? [] : standbys.split(',');
    return { history, position, standbys: flushed.map((one) => (one === '?' ? null : BigInt(one))) };
  } catch (error) {
    const code = (error as { readonly code?: unknown } | null)?.code;
    // Not supported, no such function, no permission, not in this state.
    if (typeof code === 'string' && /^(0A|42|55)/.test(code)) return null;
    throw error;
  }
}
