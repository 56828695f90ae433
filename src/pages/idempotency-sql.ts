import type { Sql } from '../store/sql.ts';

/** A change as stored: the reply is null while it runs. */
export interface StoredChange {
  readonly fingerprint: Buffer;
  readonly reply: string | null;
  readonly startedAtMs: number;
}

/** Names a change: who makes it, and the SHA-256 of its idempotency key. */
export interface ChangeName {
  readonly scope: string;
  readonly keyHash: Buffer;
}

/** Begins a change; false when one with this name exists. */
export async function insertChange(
  sql: Sql,
  { scope, keyHash }: ChangeName,
  fingerprint: Buffer,
  atMs: number,
): Promise<boolean> {
  const rows = await sql.query(
    `INSERT INTO page_change (scope, key_hash, fingerprint, started_at) VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000))
     ON CONFLICT DO NOTHING RETURNING scope`,
    [scope, keyHash, fingerprint, atMs],
  );
  return rows.length > 0;
}

export async function findChange(sql: Sql, { scope, keyHash }: ChangeName): Promise<StoredChange | null> {
  const [row] = await sql.query<{ fingerprint: Buffer; reply: string | null; started_at: number }>(
    'SELECT fingerprint, reply, started_at FROM page_change WHERE scope = $1 AND key_hash = $2',
    [scope, keyHash],
  );
  if (row === undefined) return null;
  return { fingerprint: row.fingerprint, reply: row.reply, startedAtMs: row.started_at };
}

/** Takes over a change whose process ended; false when another process did. */
export async function takeOverChange(
  sql: Sql,
  { scope, keyHash }: ChangeName,
  startedAtMs: number,
  nowMs: number,
): Promise<boolean> {
  const rows = await sql.query(
    `UPDATE page_change SET started_at = to_timestamp($4::float8 / 1000)
     WHERE scope = $1 AND key_hash = $2 AND reply IS NULL AND started_at = to_timestamp($3::float8 / 1000) RETURNING scope`,
    [scope, keyHash, startedAtMs, nowMs],
  );
  return rows.length > 0;
}

/** Stores the response of a change, which has no secret. */
export async function finishChange(sql: Sql, { scope, keyHash }: ChangeName, reply: string): Promise<void> {
  await sql.query('UPDATE page_change SET reply = $3 WHERE scope = $1 AND key_hash = $2', [
    scope,
    keyHash,
    reply,
  ]);
}

/** Forgets a change that was refused: nothing changed, and it may be tried again. */
export async function deleteChange(sql: Sql, { scope, keyHash }: ChangeName): Promise<void> {
  await sql.query('DELETE FROM page_change WHERE scope = $1 AND key_hash = $2', [scope, keyHash]);
}

/** Forgets the changes that began before an instant. */
export async function deleteChangesBefore(sql: Sql, beforeMs: number): Promise<void> {
  await sql.query('DELETE FROM page_change WHERE started_at < to_timestamp($1::float8 / 1000)', [beforeMs]);
}
