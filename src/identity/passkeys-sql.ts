import type { AuthenticatorTransport } from '@simplewebauthn/server';
import type { Sql } from '../store/sql.ts';

/** A passkey of an owner, for its list. */
export interface PasskeyRow {
  readonly passkeyId: number;
  readonly name: string;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number | null;
}

/** A passkey as stored. */
export interface Passkey extends PasskeyRow {
  readonly credentialId: Buffer;
  readonly ownerId: number;
  readonly publicKey: Buffer;
  readonly signCount: number;
  readonly transports: readonly AuthenticatorTransport[];
}

interface RawPasskey {
  credential_id: Buffer;
  id: bigint;
  owner_id: bigint;
  public_key: Buffer;
  sign_count: bigint;
  transports: AuthenticatorTransport[];
  name: string;
  created_at: number;
  last_used_at: number | null;
}

/** Stores a passkey; a second one with the credential is a duplicate. */
export async function insertPasskey(
  sql: Sql,
  passkey: Omit<Passkey, 'passkeyId' | 'lastUsedAtMs' | 'transports'> & {
    readonly transports: readonly string[];
  },
): Promise<Passkey> {
  const [row] = await sql.query<RawPasskey>(
    `INSERT INTO passkey (credential_id, owner_id, public_key, sign_count, transports, name, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000)) RETURNING *`,
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
  if (row === undefined) throw new Error('INSERT INTO passkey returned no row');
  return passkeyOf(row);
}

/** The passkey with this credential, or null. */
export async function findPasskey(sql: Sql, credentialId: Buffer): Promise<Passkey | null> {
  const [row] = await sql.query<RawPasskey>('SELECT * FROM passkey WHERE credential_id = $1', [credentialId]);
  return row === undefined ? null : passkeyOf(row);
}

/** The passkeys of an owner, oldest first. */
export async function listPasskeys(sql: Sql, ownerId: number): Promise<readonly Passkey[]> {
  const rows = await sql.query<RawPasskey>('SELECT * FROM passkey WHERE owner_id = $1 ORDER BY id', [
    ownerId,
  ]);
  return rows.map(passkeyOf);
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

function passkeyOf(row: RawPasskey): Passkey {
  return {
    passkeyId: Number(row.id),
    name: row.name,
    createdAtMs: row.created_at,
    lastUsedAtMs: row.last_used_at,
    credentialId: row.credential_id,
    ownerId: Number(row.owner_id),
    publicKey: row.public_key,
    signCount: Number(row.sign_count),
    transports: row.transports,
  };
}
