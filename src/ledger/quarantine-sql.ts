import { quarantinedTextSql } from '../store/digests.ts';
import type { Sql } from '../store/sql.ts';

/** A settlement that the database refused. */
export interface QuarantinedRow {
  /** 32 hex digits. */
  readonly uuid: string;
  readonly accountId: number;
  readonly keyId: number;
  /** Micro-won. */
  readonly cost: bigint;
  /** The record of the journal. */
  readonly record: Buffer;
  /** The last error of the database. */
  readonly reason: string;
}

/** The same with the columns that the table adds. */
export interface QuarantinedEntry extends QuarantinedRow {
  /** How often the database refused it. */
  readonly attempts: number;
  readonly quarantinedAtMs: number;
  /** Null while a decision is pending. */
  readonly resolution: 'settled' | 'written off' | null;
  readonly resolvedAtMs: number | null;
  readonly note: string | null;
}

interface RawEntry {
  generation_id: string;
  account_id: string;
  key_id: string;
  cost: string;
  record: Buffer;
  reason: string;
  attempts: bigint;
  quarantined_at: number;
  resolution: QuarantinedEntry['resolution'];
  resolved_at: number | null;
  note: string | null;
}

/**
 * Stores a refused settlement, or counts another refusal of it; one that an operator has decided
 * about does not change. Takes a transaction: a new row gets the next number and the next link of
 * the chain.
 */
export async function storeQuarantined(sql: Sql, row: QuarantinedRow): Promise<void> {
  await sql.query('SELECT 1 FROM quarantine_head WHERE id = 1 FOR UPDATE');
  const known = await sql.query('SELECT 1 FROM quarantined_settlement WHERE generation_id = $1', [row.uuid]);
  if (known.length > 0) {
    await sql.query(
      `UPDATE quarantined_settlement SET reason = $2, attempts = attempts + 1
       WHERE generation_id = $1 AND resolution IS NULL`,
      [row.uuid, row.reason],
    );
    return;
  }
  await sql.query(
    `WITH added AS (
       INSERT INTO quarantined_settlement (number, generation_id, account_id, key_id, cost, record, reason)
       SELECT refused + 1, $1, $2, $3, $4, $5, $6 FROM quarantine_head RETURNING *)
     UPDATE quarantine_head h SET refused = a.number, chain = sha256(chain || convert_to(a.text, 'UTF8'))
     FROM (SELECT number, ${quarantinedTextSql} AS text FROM added) a`,
    [row.uuid, row.accountId, row.keyId, row.cost, row.record, row.reason],
  );
}

/**
 * Every refused settlement in the order of their generations; only the undecided ones unless `all`,
 * no more than `limit`, and only those after a generation.
 */
export async function listQuarantined(
  sql: Sql,
  all = false,
  limit: number | null = null,
  after: string | null = null,
): Promise<readonly QuarantinedEntry[]> {
  const rows = await sql.query<RawEntry>(
    `SELECT * FROM quarantined_settlement
     WHERE ($2 OR resolution IS NULL) AND ($3::text IS NULL OR generation_id > $3) ORDER BY generation_id LIMIT $1`,
    [limit, all, after],
  );
  return rows.map((row) => ({
    uuid: row.generation_id,
    accountId: Number(row.account_id),
    keyId: Number(row.key_id),
    cost: BigInt(row.cost),
    record: row.record,
    reason: row.reason,
    attempts: Number(row.attempts),
    quarantinedAtMs: row.quarantined_at,
    resolution: row.resolution,
    resolvedAtMs: row.resolved_at,
    note: row.note,
  }));
}

/** Records a decision; false when there is no undecided row. */
export async function resolveQuarantined(
  sql: Sql,
  uuid: string,
  resolution: 'settled' | 'written off',
  note: string | null,
): Promise<boolean> {
  const rows = await sql.query(
    `UPDATE quarantined_settlement SET resolution = $2, note = $3, resolved_at = now()
     WHERE generation_id = $1 AND resolution IS NULL RETURNING generation_id`,
    [uuid, resolution, note],
  );
  return rows.length > 0;
}

/** Which of these generations have a refused settlement, whatever was decided about it. */
export async function findQuarantined(sql: Sql, uuids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await sql.query<{ id: string }>(
    'SELECT generation_id AS id FROM quarantined_settlement WHERE generation_id = ANY($1::text[])',
    [uuids],
  );
  return new Set(rows.map(({ id }) => id));
}

/** How many settlements wait for a decision. */
export async function countQuarantined(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ n: bigint }>(
    'SELECT count(*) AS n FROM quarantined_settlement WHERE resolution IS NULL',
  );
  return Number(row?.n ?? 0n);
}
