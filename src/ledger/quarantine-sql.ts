import { quarantinedTextSql } from '../store/digests.ts';
import { column, number, numeric, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

const entries = recordOf({
  /** 32 hex digits. */
  uuid: column<string>('generation_id'),
  accountId: number('account_id'),
  keyId: number('key_id'),
  /** Micro-won. */
  cost: numeric('cost'),
  /** The record of the journal. */
  record: column<Buffer>('record'),
  /** The last error of the database. */
  reason: column<string>('reason'),
  /** How often the database refused it. */
  attempts: number('attempts'),
  quarantinedAtMs: column<number>('quarantined_at'),
  /** Null while a decision is pending. */
  resolution: column<'settled' | 'written off' | null>('resolution'),
  resolvedAtMs: column<number | null>('resolved_at'),
  note: column<string | null>('note'),
});

/** A settlement that the database refused, with the columns that the table adds. */
export type QuarantinedEntry = RowOf<typeof entries>;
/** A settlement that the database refused. */
export type QuarantinedRow = Pick<
  QuarantinedEntry,
  'uuid' | 'accountId' | 'keyId' | 'cost' | 'record' | 'reason'
>;

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
export function listQuarantined(
  sql: Sql,
  all = false,
  limit: number | null = null,
  after: string | null = null,
): Promise<readonly QuarantinedEntry[]> {
  return entries.all(
    sql,
    `SELECT ${entries.columns} FROM quarantined_settlement
     WHERE ($2 OR resolution IS NULL) AND ($3::text IS NULL OR generation_id > $3) ORDER BY generation_id LIMIT $1`,
    [limit, all, after],
  );
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
