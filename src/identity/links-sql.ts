import { column, nullable, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import { newToken } from './tokens.ts';

/**
 * What a link does: makes an owner, sets its password again, opens a session of an account, or of
 * an operator.
 */
export type LinkPurpose = 'invitation' | 'reset' | 'account' | 'console';

const links = recordOf({
  purpose: column<LinkPurpose>('purpose'),
  accountId: nullable(number('account_id')),
  ownerId: nullable(number('owner_id')),
  operatorId: nullable(number('operator_id')),
  /** The address that the operator stated; null: the owner states it. */
  email: column<string | null>('email'),
  expiresAtMs: column<number>('expires_at'),
});

/** A valid link. */
export type Link = RowOf<typeof links>;

/** A link at the moment of its creation: the only time its token exists here. */
export interface NewLink extends Pick<Link, 'purpose' | 'expiresAtMs'> {
  readonly token: string;
}

/** How long a link is valid. */
const validMs = 24 * 3_600_000;

/** Makes a link, which is stored by the hash of its token; absent members are null. */
export async function insertLink(
  sql: Sql,
  link: Pick<Link, 'purpose'> & Partial<Pick<Link, 'accountId' | 'ownerId' | 'operatorId' | 'email'>>,
  nowMs: number,
): Promise<NewLink> {
  const { token, hash } = newToken();
  const expiresAtMs = nowMs + validMs;
  await sql.query(
    `INSERT INTO one_time_link (token_hash, purpose, account_id, owner_id, operator_id, email, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000), to_timestamp($8::float8 / 1000))`,
    [hash, link.purpose, link.accountId, link.ownerId, link.operatorId, link.email, nowMs, expiresAtMs],
  );
  return { token, purpose: link.purpose, expiresAtMs };
}

/** A link that is neither used nor expired; null otherwise. */
export function findLink(sql: Sql, hash: Buffer, nowMs: number): Promise<Link | null> {
  return links.first(
    sql,
    `SELECT ${links.columns} FROM one_time_link WHERE token_hash = $1 AND used_at IS NULL AND expires_at > to_timestamp($2::float8 / 1000)`,
    [hash, nowMs],
  );
}

/** Marks a link of one of these purposes as used; null when it is unknown, used or expired. */
export function markLinkUsed(
  sql: Sql,
  hash: Buffer,
  purposes: readonly LinkPurpose[],
  nowMs: number,
): Promise<Link | null> {
  return links.first(
    sql,
    `UPDATE one_time_link SET used_at = to_timestamp($2::float8 / 1000)
     WHERE token_hash = $1 AND used_at IS NULL AND expires_at > to_timestamp($2::float8 / 1000) AND purpose = ANY ($3)
     RETURNING ${links.columns}`,
    [hash, nowMs, purposes],
  );
}

/** Deletes the links that sign an operator in. */
export async function deleteLinksOfOperator(sql: Sql, operatorId: number): Promise<void> {
  await sql.query('DELETE FROM one_time_link WHERE operator_id = $1', [operatorId]);
}

/** Deletes the open links that would make an owner of an account, or open a session of it. */
export async function deleteLinksOfAccount(sql: Sql, accountId: number): Promise<void> {
  await sql.query(
    'DELETE FROM one_time_link WHERE account_id = $1 AND owner_id IS NULL AND used_at IS NULL',
    [accountId],
  );
}

/** Why nobody can be made the owner of an account; null: the account is open. */
export async function accountFault(
  sql: Sql,
  accountId: number,
): Promise<'no_such_account' | 'account_closed' | null> {
  const [row] = await sql.query<{ closed: boolean }>(
    'SELECT closed_at IS NOT NULL AS closed FROM account WHERE id = $1',
    [accountId],
  );
  if (row === undefined) return 'no_such_account';
  return row.closed ? 'account_closed' : null;
}
