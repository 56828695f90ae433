import type { Sql } from '../store/sql.ts';

/**
 * An arbitrary constant. IF NOT EXISTS alone lets two nodes make one partition at once, and one of
 * them fails.
 */
export const partitionLock = 7_236_482_619;

/**
 * Makes the monthly partition of `generation` from `fromMs` to `toMs`, unless it exists. Ids are
 * version 7 UUIDs, so a month is a range of ids: from the smallest id of its first millisecond to
 * that of the next month's. Run in a transaction: of several nodes one makes it.
 */
export async function ensureGenerationPartition(
  sql: Sql,
  name: string,
  fromMs: number,
  toMs: number,
): Promise<void> {
  // A node that starts does not wait for one that drops the records of another month.
  const [found] = await sql.query<{ is_there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS is_there', [
    name,
  ]);
  if (found?.is_there === true) return;
  await sql.query('SELECT pg_advisory_xact_lock($1)', [partitionLock]);
  await sql.query(
    `CREATE TABLE IF NOT EXISTS ${name} PARTITION OF generation FOR VALUES FROM ('${minIdAt(fromMs)}') TO ('${minIdAt(toMs)}')`,
  );
}

/** The name of the partition of a month. */
export function partitionOf(month: string): string {
  return `generation_${month.slice(0, 7).replace('-', '_')}`;
}

/** The smallest id that a generation of this instant can have. */
export function minIdAt(epochMs: number): string {
  const digits = epochMs.toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`;
}
