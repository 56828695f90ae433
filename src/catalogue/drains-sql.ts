import { column, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

/** A candidate of a model, by its catalogue id and its label. */
export interface CandidateName {
  readonly model: string;
  readonly candidate: string;
}

const drains = recordOf({
  model: column<string>('model'),
  candidate: column<string>('candidate'),
  reason: column<string>('reason'),
  atMs: column<number>('changed_at'),
  by: column<string>('changed_by'),
});

/** A candidate that takes no new requests, and who decided that. */
export type Drain = RowOf<typeof drains>;

/** What one request wanted: to drain a candidate, or to resume it. */
export interface DrainChange extends CandidateName {
  readonly drained: boolean;
  readonly reason: string;
  readonly idempotencyKey: string | null;
}

/** An arbitrary constant: the advisory lock that lets one change of drains happen at a time. */
const drainLock = 7_236_482_626;

/** Locks all drains until the transaction ends: the next change sees this one. */
export async function lockDrains(sql: Sql): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock($1)', [drainLock]);
}

/** The candidates that are drained now. */
export function readDrains(sql: Sql): Promise<readonly Drain[]> {
  return drains.all(
    sql,
    `SELECT ${drains.columns} FROM (
       SELECT DISTINCT ON (model, candidate) * FROM candidate_drain WHERE is_change ORDER BY model, candidate, id DESC
     ) last WHERE drained ORDER BY model, candidate`,
  );
}

/** The drain of one candidate; null when it takes requests. */
export function findDrain(sql: Sql, { model, candidate }: CandidateName): Promise<Drain | null> {
  return drains.first(
    sql,
    `SELECT ${drains.columns} FROM (
       SELECT * FROM candidate_drain WHERE is_change AND model = $1 AND candidate = $2 ORDER BY id DESC LIMIT 1
     ) last WHERE drained`,
    [model, candidate],
  );
}

/** The request that had this idempotency key, or null. */
export async function findDrainRequest(
  sql: Sql,
  idempotencyKey: string,
): Promise<Pick<DrainChange, 'model' | 'candidate' | 'drained' | 'reason'> | null> {
  const [row] = await sql.query<Omit<DrainChange, 'idempotencyKey'>>(
    'SELECT model, candidate, drained, reason FROM candidate_drain WHERE idempotency_key = $1',
    [idempotencyKey],
  );
  return row ?? null;
}

/** `isChange`: whether the candidate was in the other state before. */
export async function insertDrainChange(
  sql: Sql,
  { model, candidate, drained, reason, idempotencyKey }: DrainChange,
  { isChange, by, atMs }: { readonly isChange: boolean; readonly by: string; readonly atMs: number },
): Promise<void> {
  await sql.query(
    `INSERT INTO candidate_drain (model, candidate, drained, is_change, reason, changed_at, changed_by, idempotency_key)
     VALUES ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000), $7, $8)`,
    [model, candidate, drained, isChange, reason, atMs, by, idempotencyKey],
  );
}

/** Whether a configuration with this candidate was ever published. */
export async function wasPublished(sql: Sql, { model, candidate }: CandidateName): Promise<boolean> {
  const [row] = await sql.query('SELECT FROM price_version WHERE model = $1 AND candidate = $2 LIMIT 1', [
    model,
    candidate,
  ]);
  return row !== undefined;
}
