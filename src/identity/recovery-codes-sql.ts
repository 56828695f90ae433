import type { Sql } from '../store/sql.ts';

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

/** Deletes a code, which is used once; false when the owner has no such code. */
export async function deleteRecoveryCode(sql: Sql, ownerId: number, hash: Buffer): Promise<boolean> {
  const rows = await sql.query(
    'DELETE FROM recovery_code WHERE owner_id = $1 AND code_hash = $2 RETURNING owner_id',
    [ownerId, hash],
  );
  return rows.length > 0;
}

/** How many codes an owner has left. */
export async function recoveryCodesLeft(sql: Sql, ownerId: number): Promise<number> {
  const [row] = await sql.query<{ codes: bigint }>(
    'SELECT count(*) AS codes FROM recovery_code WHERE owner_id = $1',
    [ownerId],
  );
  return Number(row?.codes ?? 0n);
}
