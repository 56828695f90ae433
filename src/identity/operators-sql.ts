import { column, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import type { OperatorRole } from './audit.ts';

const operators = recordOf({
  operatorId: number('id'),
  name: column<string>('name'),
  role: column<OperatorRole>('role'),
  createdAtMs: column<number>('created_at'),
  /** The OpenID provider at which it signs in; null: by links and passkeys. */
  oidcIssuer: column<string | null>('oidc_issuer'),
});

/** An operator of the console: a person. */
export type Operator = RowOf<typeof operators>;

const tokens = recordOf({
  operatorId: number('id'),
  name: column<string>('name'),
  role: column<OperatorRole>('role'),
  createdAtMs: column<number>('created_at'),
  expiresAtMs: column<number>('expires_at'),
});

/** An operator that is a machine: it has a token, and neither links nor sessions. */
export type OperatorToken = RowOf<typeof tokens>;

const selectOperator = `SELECT ${operators.columns} FROM operator WHERE removed_at IS NULL AND expires_at IS NULL`;
const selectToken = `SELECT ${tokens.columns} FROM operator WHERE removed_at IS NULL AND expires_at IS NOT NULL`;
/** An arbitrary constant: the advisory lock for acts that count administrators. */
const operatorLock = 7_236_482_623;

/** Makes acts that count operators wait for each other until the transaction ends. */
export async function lockOperators(sql: Sql): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock($1)', [operatorLock]);
}

/** Every person, oldest first. */
export function listOperators(sql: Sql): Promise<readonly Operator[]> {
  return operators.all(sql, `${selectOperator} ORDER BY id`);
}

/** The person of this name, in any case; null when there is none. */
export function findOperator(sql: Sql, name: string): Promise<Operator | null> {
  return operators.first(sql, `${selectOperator} AND name_key = $1`, [keyOf(name)]);
}

/** The person with this id; null when there is none, or it was removed. */
export function findOperatorById(sql: Sql, operatorId: number): Promise<Operator | null> {
  return operators.first(sql, `${selectOperator} AND id = $1`, [operatorId]);
}

/** The operator that is linked to a person of the OpenID provider, or null. */
export function findLinkedOperator(
  sql: Sql,
  { issuer, subject }: { readonly issuer: string; readonly subject: string },
): Promise<Operator | null> {
  return operators.first(sql, `${selectOperator} AND oidc_issuer = $1 AND oidc_subject = $2`, [
    issuer,
    subject,
  ]);
}

/** Whether a person of the OpenID provider, or an operator of this name without one, was removed. */
export async function wasRemoved(
  sql: Sql,
  { issuer, subject }: { readonly issuer: string; readonly subject: string },
  name: string,
): Promise<boolean> {
  const rows = await sql.query(
    `SELECT FROM operator WHERE removed_at IS NOT NULL AND expires_at IS NULL
       AND (oidc_issuer = $1 AND oidc_subject = $2 OR oidc_subject IS NULL AND name_key = $3) LIMIT 1`,
    [issuer, subject, keyOf(name)],
  );
  return rows.length > 0;
}

/** Links an operator to a person of the OpenID provider. */
export async function linkOperator(
  sql: Sql,
  operatorId: number,
  { issuer, subject }: { readonly issuer: string; readonly subject: string },
): Promise<void> {
  await sql.query('UPDATE operator SET oidc_issuer = $2, oidc_subject = $3 WHERE id = $1', [
    operatorId,
    issuer,
    subject,
  ]);
}

/** Whether there are two administrators or more. */
export async function hasSeveralAdmins(sql: Sql): Promise<boolean> {
  return (await sql.query(`${selectOperator} AND role = 'admin' LIMIT 2`)).length === 2;
}

/** Stores an operator; a second one of the same name is a duplicate. */
export async function insertOperator(
  sql: Sql,
  { name, role, createdAtMs }: Pick<Operator, 'name' | 'role' | 'createdAtMs'>,
): Promise<Operator> {
  const operator = await operators.first(
    sql,
    `INSERT INTO operator (name, name_key, role, created_at) VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000))
     RETURNING ${operators.columns}`,
    [name, keyOf(name), role, createdAtMs],
  );
  if (operator === null) throw new Error('INSERT INTO operator returned no row');
  return operator;
}

/** Every token that was not revoked, oldest first. */
export function listTokens(sql: Sql): Promise<readonly OperatorToken[]> {
  return tokens.all(sql, `${selectToken} ORDER BY id`);
}

/** The token with this hash, expired or not; null when there is none, or it was revoked. */
export function findTokenByHash(sql: Sql, hash: Buffer): Promise<OperatorToken | null> {
  return tokens.first(
    sql,
    `${selectToken} AND id = (SELECT operator_id FROM operator_token WHERE token_hash = $1)`,
    [hash],
  );
}

/** The token of this name, locked until the transaction ends; null when there is none. */
export function lockToken(sql: Sql, name: string): Promise<OperatorToken | null> {
  return tokens.first(sql, `${selectToken} AND name_key = $1 FOR UPDATE`, [keyOf(name)]);
}

/** Stores a token; a second operator of the same name is a duplicate. */
export async function insertToken(
  sql: Sql,
  { name, role, createdAtMs, expiresAtMs }: Omit<OperatorToken, 'operatorId'>,
  hash: Buffer,
): Promise<OperatorToken> {
  const token = await tokens.first(
    sql,
    `INSERT INTO operator (name, name_key, role, created_at, expires_at)
     VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000), to_timestamp($5::float8 / 1000))
     RETURNING ${tokens.columns}`,
    [name, keyOf(name), role, createdAtMs, expiresAtMs],
  );
  if (token === null) throw new Error('INSERT INTO operator returned no row');
  await sql.query('INSERT INTO operator_token (token_hash, operator_id) VALUES ($1, $2)', [
    hash,
    token.operatorId,
  ]);
  return token;
}

/** Marks an operator as removed; the audit log still refers to it. */
export async function markOperatorRemoved(sql: Sql, operatorId: number, atMs: number): Promise<void> {
  await sql.query('UPDATE operator SET removed_at = to_timestamp($2::float8 / 1000) WHERE id = $1', [
    operatorId,
    atMs,
  ]);
}

/** Sets the role of an operator. */
export async function setOperatorRole(sql: Sql, operatorId: number, role: OperatorRole): Promise<void> {
  await sql.query('UPDATE operator SET role = $2 WHERE id = $1', [operatorId, role]);
}

function keyOf(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
