import type { AuthenticatorTransport } from '@simplewebauthn/server';
import { column, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

/** Whose passkey it is. */
export type PasskeyHolder = 'owner' | 'operator';

const recordOfHolder = (holderId: string) =>
  recordOf({
    passkeyId: number('id'),
    name: column<string>('name'),
    createdAtMs: column<number>('created_at'),
    lastUsedAtMs: column<number | null>('last_used_at'),
    credentialId: column<Buffer>('credential_id'),
    /** The id of the owner or the operator. */
    holderId: number(holderId),
    publicKey: column<Buffer>('public_key'),
    signCount: number('sign_count'),
    transports: column<readonly AuthenticatorTransport[]>('transports'),
  });

/** Apart, so that no passkey of an owner signs in as an operator, and those of operators are in no backup. */
const stores = {
  owner: { table: 'passkey', id: 'owner_id', passkeys: recordOfHolder('owner_id') },
  operator: { table: 'operator_passkey', id: 'operator_id', passkeys: recordOfHolder('operator_id') },
} as const;

/** A passkey as stored. */
export type Passkey = RowOf<ReturnType<typeof recordOfHolder>>;

/** Stores a passkey; a second one with the credential is a duplicate. */
export async function insertPasskey(
  sql: Sql,
  holder: PasskeyHolder,
  passkey: Omit<Passkey, 'passkeyId' | 'lastUsedAtMs' | 'transports'> & {
    readonly transports: readonly string[];
  },
): Promise<Passkey> {
  const { table, id, passkeys } = stores[holder];
  const stored = await passkeys.first(
    sql,
    `INSERT INTO ${table} (credential_id, ${id}, public_key, sign_count, transports, name, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000)) RETURNING ${passkeys.columns}`,
    [
      passkey.credentialId,
      passkey.holderId,
      passkey.publicKey,
      passkey.signCount,
      passkey.transports,
      passkey.name,
      passkey.createdAtMs,
    ],
  );
  if (stored === null) throw new Error(`INSERT INTO ${table} returned no row`);
  return stored;
}

/** The passkey with this credential, or null. */
export function findPasskey(sql: Sql, holder: PasskeyHolder, credentialId: Buffer): Promise<Passkey | null> {
  const { table, passkeys } = stores[holder];
  return passkeys.first(sql, `SELECT ${passkeys.columns} FROM ${table} WHERE credential_id = $1`, [
    credentialId,
  ]);
}

/** The passkeys of an owner or an operator, oldest first. */
export function listPasskeys(sql: Sql, holder: PasskeyHolder, holderId: number): Promise<readonly Passkey[]> {
  const { table, id, passkeys } = stores[holder];
  return passkeys.all(sql, `SELECT ${passkeys.columns} FROM ${table} WHERE ${id} = $1 ORDER BY id`, [
    holderId,
  ]);
}

/** Records a use; false when another use was recorded since the passkey was read. */
export async function countUse(
  sql: Sql,
  holder: PasskeyHolder,
  { credentialId, signCount }: Passkey,
  newSignCount: number,
  nowMs: number,
): Promise<boolean> {
  const rows = await sql.query(
    `UPDATE ${stores[holder].table} SET sign_count = $2, last_used_at = to_timestamp($3::float8 / 1000)
     WHERE credential_id = $1 AND sign_count = $4 RETURNING id`,
    [credentialId, newSignCount, nowMs, signCount],
  );
  return rows.length > 0;
}

/** Deletes a passkey of its holder, or with null all of them; false when there is none. */
export async function deletePasskeys(
  sql: Sql,
  holder: PasskeyHolder,
  holderId: number,
  passkeyId: number | null,
): Promise<boolean> {
  const { table, id } = stores[holder];
  const rows = await sql.query(
    `DELETE FROM ${table} WHERE ${id} = $2 AND ($1::bigint IS NULL OR id = $1) RETURNING id`,
    [passkeyId, holderId],
  );
  return rows.length > 0;
}
