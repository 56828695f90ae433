import { randomBytes } from 'node:crypto';
import type { Sql } from '../store/sql.ts';
import type { Email } from './email.ts';

/** What an owner chose for the pages. */
export interface Preferences {
  readonly language?: 'ko' | 'en';
  readonly theme?: 'system' | 'light' | 'dark';
}

/** A person who signs in for an account. */
export interface Owner {
  readonly ownerId: number;
  readonly accountId: number;
  readonly email: string;
  /** Whether an operator or the OpenID provider confirmed the address. */
  readonly emailVerified: boolean;
  readonly name: string | null;
  readonly passwordSetAtMs: number | null;
  readonly totpEnabledAtMs: number | null;
  readonly preferences: Preferences;
  readonly createdAtMs: number;
}

/** An owner with its credentials, which do not leave this room. */
export interface OwnerCredentials extends Owner {
  readonly password: string | null;
  readonly webauthnId: Buffer;
  readonly totpSecret: Buffer | null;
  readonly totpStep: number;
}

interface RawOwner {
  id: bigint;
  account_id: bigint;
  email: string;
  email_verified: boolean;
  name: string | null;
  password: string | null;
  password_set_at: number | null;
  webauthn_id: Buffer;
  totp_secret: Buffer | null;
  totp_enabled_at: number | null;
  totp_step: bigint;
  preferences: Preferences;
  created_at: number;
}

const selectOwner = `
SELECT id, account_id, email, email_verified, name, password, password_set_at, webauthn_id, totp_secret, totp_enabled_at, totp_step,
       preferences, created_at
FROM owner`;

/**
 * Stores an owner and returns its id; a second one with the address, or of the account, is a
 * duplicate.
 */
export async function insertOwner(
  sql: Sql,
  owner: {
    readonly accountId: number;
    readonly email: Email;
    readonly emailVerified: boolean;
    readonly name: string | null;
    readonly password: string | null;
    readonly createdAtMs: number;
  },
): Promise<number> {
  const [row] = await sql.query<{ id: bigint }>(
    `INSERT INTO owner (account_id, email, email_key, email_verified, name, password, password_set_at, webauthn_id, created_at)
     VALUES ($1, $2, $3, $4, $5, $6::text, CASE WHEN $6::text IS NULL THEN NULL ELSE to_timestamp($8::float8 / 1000) END, $7, to_timestamp($8::float8 / 1000))
     RETURNING id`,
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
  if (row === undefined) throw new Error('INSERT INTO owner returned no row');
  return Number(row.id);
}

/** The owner with this address, or null. */
export async function findOwnerByEmail(sql: Sql, { key }: Email): Promise<OwnerCredentials | null> {
  const [row] = await sql.query<RawOwner>(`${selectOwner} WHERE email_key = $1`, [key]);
  return row === undefined ? null : credentialsOf(row);
}

/** The owner with this id, or null. */
export async function findOwner(sql: Sql, ownerId: number): Promise<OwnerCredentials | null> {
  const [row] = await sql.query<RawOwner>(`${selectOwner} WHERE id = $1`, [ownerId]);
  return row === undefined ? null : credentialsOf(row);
}

/** The same; until the transaction ends no other changes it. */
export async function lockOwner(sql: Sql, ownerId: number): Promise<OwnerCredentials | null> {
  const [row] = await sql.query<RawOwner>(`${selectOwner} WHERE id = $1 FOR UPDATE`, [ownerId]);
  return row === undefined ? null : credentialsOf(row);
}

/** The owner of an account, or null. */
export async function findOwnerOfAccount(sql: Sql, accountId: number): Promise<Owner | null> {
  const [row] = await sql.query<RawOwner>(`${selectOwner} WHERE account_id = $1`, [accountId]);
  return row === undefined ? null : ownerOf(credentialsOf(row));
}

/** Sets the password of an owner. */
export async function setPassword(sql: Sql, ownerId: number, password: string, nowMs: number): Promise<void> {
  await sql.query(
    'UPDATE owner SET password = $2, password_set_at = to_timestamp($3::float8 / 1000) WHERE id = $1',
    [ownerId, password, nowMs],
  );
}

/**
 * Replaces a stored hash by a stronger one of the same password, unless the password was changed
 * meanwhile.
 */
export async function replaceHash(sql: Sql, ownerId: number, from: string, to: string): Promise<void> {
  await sql.query('UPDATE owner SET password = $3 WHERE id = $1 AND password = $2', [ownerId, from, to]);
}

/** Changes what an owner states; absent members do not change. */
export async function updateProfile(
  sql: Sql,
  ownerId: number,
  change: { readonly name?: string | null; readonly preferences?: Preferences },
): Promise<Owner | null> {
  const [row] = await sql.query<RawOwner>(
    `UPDATE owner SET name = CASE WHEN $2 THEN $3 ELSE name END, preferences = preferences || $4::jsonb WHERE id = $1
     RETURNING id, account_id, email, email_verified, name, password, password_set_at, webauthn_id, totp_secret, totp_enabled_at,
               totp_step, preferences, created_at`,
    [ownerId, change.name !== undefined, change.name ?? null, JSON.stringify(change.preferences ?? {})],
  );
  return row === undefined ? null : ownerOf(credentialsOf(row));
}

/** Marks the address of an owner as confirmed. */
export async function setEmailVerified(sql: Sql, ownerId: number): Promise<void> {
  await sql.query('UPDATE owner SET email_verified = true WHERE id = $1 AND NOT email_verified', [ownerId]);
}

/** An owner without its credentials. */
export function ownerOf(credentials: OwnerCredentials): Owner {
  const {
    password: _password,
    webauthnId: _id,
    totpSecret: _secret,
    totpStep: _step,
    ...owner
  } = credentials;
  return owner;
}

function credentialsOf(row: RawOwner): OwnerCredentials {
  return {
    ownerId: Number(row.id),
    accountId: Number(row.account_id),
    email: row.email,
    emailVerified: row.email_verified,
    name: row.name,
    password: row.password,
    passwordSetAtMs: row.password_set_at,
    webauthnId: row.webauthn_id,
    totpSecret: row.totp_secret,
    totpEnabledAtMs: row.totp_enabled_at,
    totpStep: Number(row.totp_step),
    preferences: row.preferences,
    createdAtMs: row.created_at,
  };
}
