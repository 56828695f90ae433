import { randomBytes } from 'node:crypto';
import { column, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import type { Email } from './email.ts';

/** What an owner chose for the pages. */
export interface Preferences {
  readonly language?: 'ko' | 'en';
  readonly theme?: 'system' | 'light' | 'dark';
}

const shown = {
  ownerId: number('id'),
  accountId: number('account_id'),
  email: column<string>('email'),
  /** Whether an operator or the OpenID provider confirmed the address. */
  emailVerified: column<boolean>('email_verified'),
  name: column<string | null>('name'),
  passwordSetAtMs: column<number | null>('password_set_at'),
  totpEnabledAtMs: column<number | null>('totp_enabled_at'),
  preferences: column<Preferences>('preferences'),
  createdAtMs: column<number>('created_at'),
};
const owners = recordOf(shown);
const credentials = recordOf({
  ...shown,
  password: column<string | null>('password'),
  webauthnId: column<Buffer>('webauthn_id'),
  totpSecret: column<Buffer | null>('totp_secret'),
  totpStep: number('totp_step'),
});

/** A person who signs in for an account. */
export type Owner = RowOf<typeof owners>;
/** An owner with its credentials, which do not leave this room. */
export type OwnerCredentials = RowOf<typeof credentials>;

const selectOwner = `SELECT ${owners.columns} FROM owner`;
const selectCredentials = `SELECT ${credentials.columns} FROM owner`;

/** Stores an owner; a second one with the address, or of the account, is a duplicate. */
export async function insertOwner(
  sql: Sql,
  owner: Pick<OwnerCredentials, 'accountId' | 'emailVerified' | 'name' | 'password' | 'createdAtMs'> & {
    readonly email: Email;
  },
): Promise<OwnerCredentials> {
  const stored = await credentials.first(
    sql,
    `INSERT INTO owner (account_id, email, email_key, email_verified, name, password, password_set_at, webauthn_id, created_at)
     VALUES ($1, $2, $3, $4, $5, $6::text, CASE WHEN $6::text IS NULL THEN NULL ELSE to_timestamp($8::float8 / 1000) END, $7, to_timestamp($8::float8 / 1000))
     RETURNING ${credentials.columns}`,
    [
      owner.accountId,
      owner.email.text,
      owner.email.key,
      owner.emailVerified,
      owner.name,
      owner.password,
      randomBytes(32),
      owner.createdAtMs,
    ],
  );
  if (stored === null) throw new Error('INSERT INTO owner returned no row');
  return stored;
}

/** The owner with this address, or null. */
export function findOwnerByEmail(sql: Sql, { key }: Email): Promise<OwnerCredentials | null> {
  return credentials.first(sql, `${selectCredentials} WHERE email_key = $1`, [key]);
}

/** The owner with this id, or null. */
export function findOwner(sql: Sql, ownerId: number): Promise<OwnerCredentials | null> {
  return credentials.first(sql, `${selectCredentials} WHERE id = $1`, [ownerId]);
}

/** The same; until the transaction ends no other changes it. */
export function lockOwner(sql: Sql, ownerId: number): Promise<OwnerCredentials | null> {
  return credentials.first(sql, `${selectCredentials} WHERE id = $1 FOR UPDATE`, [ownerId]);
}

/** The owner with this id without its credentials, or null. */
export function readOwner(sql: Sql, ownerId: number): Promise<Owner | null> {
  return owners.first(sql, `${selectOwner} WHERE id = $1`, [ownerId]);
}

/** The owner of an account, or null. */
export function findOwnerOfAccount(sql: Sql, accountId: number): Promise<Owner | null> {
  return owners.first(sql, `${selectOwner} WHERE account_id = $1`, [accountId]);
}

/** Sets the password of an owner. */
export async function setPassword(sql: Sql, ownerId: number, password: string, nowMs: number): Promise<void> {
  await sql.query(
    'UPDATE owner SET password = $2, password_set_at = to_timestamp($3::float8 / 1000) WHERE id = $1',
    [ownerId, password, nowMs],
  );
}

/** Replaces a stored hash by a stronger one of the same password; the caller holds the owner's lock. */
export async function replaceHash(sql: Sql, ownerId: number, password: string): Promise<void> {
  await sql.query('UPDATE owner SET password = $2 WHERE id = $1', [ownerId, password]);
}

/** Changes what an owner states; absent members do not change. */
export function updateProfile(
  sql: Sql,
  ownerId: number,
  change: { readonly name?: string | null; readonly preferences?: Preferences },
): Promise<Owner | null> {
  return owners.first(
    sql,
    `UPDATE owner SET name = CASE WHEN $2 THEN $3 ELSE name END, preferences = preferences || $4::jsonb WHERE id = $1
     RETURNING ${owners.columns}`,
    [ownerId, change.name !== undefined, change.name ?? null, JSON.stringify(change.preferences ?? {})],
  );
}

/** Marks the address of an owner as confirmed. */
export async function setEmailVerified(sql: Sql, ownerId: number): Promise<void> {
  await sql.query('UPDATE owner SET email_verified = true WHERE id = $1 AND NOT email_verified', [ownerId]);
}

/** Stores the secret of TOTP, since when it is on, and the step of the last accepted code. */
export async function setTotp(
  sql: Sql,
  owner: Pick<OwnerCredentials, 'ownerId' | 'totpSecret' | 'totpEnabledAtMs' | 'totpStep'>,
): Promise<void> {
  await sql.query(
    'UPDATE owner SET totp_secret = $2, totp_enabled_at = to_timestamp($3::float8 / 1000), totp_step = $4 WHERE id = $1',
    [owner.ownerId, owner.totpSecret, owner.totpEnabledAtMs, owner.totpStep],
  );
}

const tablesOfOwner = [
  'passkey',
  'recovery_code',
  'owner_oidc',
  'page_session',
  'sign_in_step',
  'one_time_link',
];

/** Deletes an owner and its rows, its e-mails too, and its address where an invitation or the account has it. */
export async function deleteOwner(
  sql: Sql,
  { ownerId, accountId, email }: Pick<Owner, 'ownerId' | 'accountId' | 'email'>,
): Promise<void> {
  for (const table of tablesOfOwner) await sql.query(`DELETE FROM ${table} WHERE owner_id = $1`, [ownerId]);
  const address = [accountId, email];
  await sql.query('DELETE FROM one_time_link WHERE account_id = $1 AND lower(email) = lower($2)', address);
  await sql.query('UPDATE account SET email = NULL WHERE id = $1 AND lower(email) = lower($2)', address);
  for (const table of ['message', 'message_choice'])
    await sql.query(`DELETE FROM ${table} WHERE subject = 'account ' || $1::bigint AND channel = 'email'`, [
      accountId,
    ]);
  await sql.query('DELETE FROM owner WHERE id = $1', [ownerId]);
}
