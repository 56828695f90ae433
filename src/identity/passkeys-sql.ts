import type { AuthenticatorTransport } from '@simplewebauthn/server';
import { column, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

const passkeys = recordOf({
  passkeyId: number('id'),
  name: column<string>('name'),
  createdAtMs: column<number>('created_at'),
  lastUsedAtMs: column<number | null>('last_used_at'),
  credentialId: column<Buffer>('credential_id'),
  ownerId: number('owner_id'),
  publicKey: column<Buffer>('public_key'),
  signCount: number('sign_count'),
  transports: column<readonly AuthenticatorTransport[]>('transports'),
});

/** A passkey as stored. */
export type Passkey = RowOf<typeof passkeys>;

/** Stores a passkey; a second one with the credential is a duplicate. */
export async function insertPasskey(
  sql: Sql,
  passkey: Omit<Passkey, 'passkeyId' | 'lastUsedAtMs' | 'transports'> & {
    readonly transports: readonly string[];
  },
): Promise<Passkey> {
  const stored = await passkeys.first(
    sql,
    `INSERT INTO passkey (credential_id, owner_id, public_key, sign_count, transports, name, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000)) RETURNING ${passkeys.columns}`,
    [
      passkey.credentialId,
      passkey.ownerId,
      passkey.publicKey,
      passkey.signCount,
      passkey.transports,
      passkey.name,
      passkey.createdAtMs,
    ],
  );
  if (stored === null) throw new Error('INSERT INTO passkey returned no row');
  return stored;
}

/** The passkey with this credential, or null. */
export function findPasskey(sql: Sql, credentialId: Buffer): Promise<Passkey | null> {
  return passkeys.first(sql, `SELECT ${passkeys.columns} FROM passkey WHERE credential_id = $1`, [
    credentialId,
  ]);
}

/** The passkeys of an owner, oldest first. */
export function listPasskeys(sql: Sql, ownerId: number): Promise<readonly Passkey[]> {
  return passkeys.all(sql, `SELECT ${passkeys.columns} FROM passkey WHERE owner_id = $1 ORDER BY id`, [
    ownerId,
  ]);
}

/** Records a use; false when another use was recorded since the passkey was read. */
export async function countUse(
  sql: Sql,
  { credentialId, signCount }: Passkey,
  newSignCount: number,
  nowMs: number,
): Promise<boolean> {
  const rows = await sql.query(
    `UPDATE passkey SET sign_count = $2, last_used_at = to_timestamp($3::float8 / 1000)
     WHERE credential_id = $1 AND sign_count = $4 RETURNING id`,
    [credentialId, newSignCount, nowMs, signCount],
  );
  return rows.length > 0;
}

/** Deletes a passkey of an owner; false when it has none with this id. */
export async function deletePasskey(sql: Sql, ownerId: number, passkeyId: number): Promise<boolean> {
  const rows = await sql.query('DELETE FROM passkey WHERE id = $1 AND owner_id = $2 RETURNING id', [
    passkeyId,
    ownerId,
  ]);
  return rows.length > 0;
}
