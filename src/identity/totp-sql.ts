import type { Sql } from '../store/sql.ts';

/** Stores a secret that is not in use yet. */
export async function storeTotpSecret(sql: Sql, ownerId: number, secret: Buffer): Promise<void> {
  await sql.query('UPDATE owner SET totp_secret = $2, totp_step = 0 WHERE id = $1', [ownerId, secret]);
}

/** Turns the stored secret on; `step` is that of the code that proved it. */
export async function storeTotpEnabled(sql: Sql, ownerId: number, step: number, atMs: number): Promise<void> {
  await sql.query(
    'UPDATE owner SET totp_enabled_at = to_timestamp($2::float8 / 1000), totp_step = $3 WHERE id = $1',
    [ownerId, atMs, step],
  );
}

/** Stores the step of the last accepted code. */
export async function storeTotpStep(sql: Sql, ownerId: number, step: number): Promise<void> {
  await sql.query('UPDATE owner SET totp_step = $2 WHERE id = $1', [ownerId, step]);
}

/** Deletes the secret. */
export async function clearTotp(sql: Sql, ownerId: number): Promise<void> {
  await sql.query(
    'UPDATE owner SET totp_secret = NULL, totp_enabled_at = NULL, totp_step = 0 WHERE id = $1',
    [ownerId],
  );
}

/** Replaces the recovery codes of an owner. */
export async function replaceRecoveryCodes(
  sql: Sql,
  ownerId: number,
  hashes: readonly Buffer[],
): Promise<void> {
  await sql.query('DELETE FROM recovery_code WHERE owner_id = $1', [ownerId]);
  for (const hash of hashes)
    await sql.query('INSERT INTO recovery_code (owner_id, code_hash) VALUES ($1, $2)', [ownerId, hash]);
}

/** Deletes a recovery code, which is used once; false when the owner has no such code. */
export async function deleteRecoveryCode(sql: Sql, ownerId: number, hash: Buffer): Promise<boolean> {
  const rows = await sql.query(
    'DELETE FROM recovery_code WHERE owner_id = $1 AND code_hash = $2 RETURNING owner_id',
    [ownerId, hash],
  );
  return rows.length > 0;
}

/** How many recovery codes an owner has left. */
export async function recoveryCodesLeft(sql: Sql, ownerId: number): Promise<number> {
  const [row] = await sql.query<{ codes: bigint }>(
    'SELECT count(*) AS codes FROM recovery_code WHERE owner_id = $1',
    [ownerId],
  );
  return Number(row?.codes ?? 0n);
}
