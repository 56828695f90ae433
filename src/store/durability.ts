import { defaultKeepSettledMs } from '../config/defaults.ts';
import type { Sql } from './sql.ts';

/** The settings of an external server that decide whether an acknowledged charge is durable. */
export interface ServerDurability {
  readonly fsync: string;
  readonly fullPageWrites: string;
  /** Of this session, after it set what it needs; null on an engine that does not have it. */
  readonly synchronousCommit: string | null;
  readonly synchronousStandbys: string;
  /** Standbys connected now, backups in progress left out. */
  readonly standbys: number;
  /** Standbys whose position this role may not read. */
  readonly hiddenStandbys: number;
  readonly isStandby: boolean;
}

/** Reads the settings; every user may. Throws what the database throws. */
export async function readDurability(sql: Sql): Promise<ServerDurability> {
  const [row] = await sql.query<ServerDurability>(
    `SELECT coalesce(current_setting('fsync', true), 'on') AS "fsync",
            coalesce(current_setting('full_page_writes', true), 'on') AS "fullPageWrites",
            current_setting('synchronous_commit', true) AS "synchronousCommit",
            coalesce(current_setting('synchronous_standby_names', true), '') AS "synchronousStandbys",
            (SELECT count(*)::int FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup') AS "standbys",
            (SELECT count(*)::int FROM pg_stat_replication WHERE state IS NULL) AS "hiddenStandbys",
            pg_is_in_recovery() AS "isStandby"`,
  );
  if (row === undefined) throw new Error('the server did not return its settings');
  return row;
}

/**
 * What can lose an acknowledged charge, each as a sentence with its remedy; empty when nothing can.
 */
export function durabilityFaults(
  server: ServerDurability,
  keepSettledMs: number | null = null,
): readonly string[] {
  const faults: string[] = [];
  if (server.isStandby)
    faults.push('it is a standby and takes no writes: point database.url at the primary server');
  if (server.fsync !== 'on')
    faults.push(
      'fsync is off: a loss of power can lose acknowledged charges and destroy the database: set fsync = on (a hosted service that stores its log elsewhere may report off: ask its operator)',
    );
  if (server.fullPageWrites !== 'on')
    faults.push(
      'full_page_writes is off: a loss of power can leave half-written pages: set full_page_writes = on, unless the file system writes whole pages',
    );
  if (server.synchronousCommit !== null && !['on', 'remote_apply'].includes(server.synchronousCommit))
    faults.push(
      `synchronous_commit is ${server.synchronousCommit} although the session sets it to on: a crash can lose acknowledged charges: do not let a connection pooler reset it`,
    );
  if (server.standbys > 0 && server.synchronousStandbys === '')
    faults.push(asynchronousFault(server, keepSettledMs));
  return faults;
}

function asynchronousFault(
  { standbys, hiddenStandbys }: ServerDurability,
  keepSettledMs: number | null,
): string {
  const replicates = standbys === 1 ? 'one standby replicates' : `${standbys} standbys replicate`;
  const settlements =
    keepSettledMs === 0
      ? 'charges (settlement.keep_settled_ms is 0), credits, keys and accounts'
      : 'credits, keys and accounts (charges are settled again from the journals)';
  const lost = `${replicates} asynchronously: a failover loses the ${settlements} that had not arrived there: set synchronous_standby_names`;
  if (hiddenStandbys === 0 || keepSettledMs === 0) return lost;
  const keepMs = keepSettledMs ?? defaultKeepSettledMs;
  return `${lost}; this role may not read how far the standbys are, so journals keep what is settled for ${keepMs / 1000} s and no longer: GRANT pg_monitor to it`;
}

/** The version of the server, as `18.1`. */
export async function readServerVersion(sql: Sql): Promise<string> {
  const [row] = await sql.query<{ version: string }>("SELECT current_setting('server_version') AS version");
  if (row === undefined) throw new Error('the server did not report its version');
  return row.version;
}
