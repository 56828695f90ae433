import type { Sql } from '../store/sql.ts';

/**
 * What a link does: makes an owner, sets its password again, opens a session of an account, or of
 * an operator.
 */
export type LinkPurpose = 'invitation' | 'reset' | 'account' | 'console';

/** A valid link. */
export interface Link {
  readonly purpose: LinkPurpose;
  readonly accountId: number | null;
  readonly ownerId: number | null;
  readonly operatorId: number | null;
  /** The address that the operator stated; null: the owner states it. */
  readonly email: string | null;
  readonly expiresAtMs: number;
}

/** What a link is stored with; absent members are null. */
export type LinkTarget = Pick<Link, 'purpose'> &
  Partial<Pick<Link, 'accountId' | 'ownerId' | 'operatorId' | 'email'>>;

interface RawLink {
  purpose: LinkPurpose;
  account_id: bigint | null;
  owner_id: bigint | null;
  operator_id: bigint | null;
  email: string | null;
  expires_at: number;
}

const linkColumns = 'purpose, account_id, owner_id, operator_id, email, expires_at';

/** Stores a link by the hash of its token. */
export async function insertLink(
  sql: Sql,
  link: LinkTarget & {
    readonly hash: Buffer;
    readonly createdAtMs: number;
    readonly expiresAtMs: number;
  },
): Promise<void> {
  await sql.query(
    `INSERT INTO one_time_link (token_hash, purpose, account_id, owner_id, operator_id, email, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000), to_timestamp($8::float8 / 1000))`,
    [
      link.hash,
      link.purpose,
      link.accountId ?? null,
      link.ownerId ?? null,
      link.operatorId ?? null,
      link.email ?? null,
      link.createdAtMs,
      link.expiresAtMs,
    ],
  );
}

/** A link that is neither used nor expired; null otherwise. */
export async function findLink(sql: Sql, hash: Buffer, nowMs: number): Promise<Link | null> {
  const [row] = await sql.query<RawLink>(
    `SELECT ${linkColumns} FROM one_time_link WHERE token_hash = $1 AND used_at IS NULL AND expires_at > to_timestamp($2::float8 / 1000)`,
    [hash, nowMs],
  );
  return row === undefined ? null : linkOf(row);
}

/** Marks a link of one of these purposes as used; null when it is unknown, used or expired. */
export async function markLinkUsed(
  sql: Sql,
  hash: Buffer,
  purposes: readonly LinkPurpose[],
  nowMs: number,
): Promise<Link | null> {
  const [row] = await sql.query<RawLink>(
    `UPDATE one_time_link SET used_at = to_timestamp($2::float8 / 1000)
     WHERE token_hash = $1 AND used_at IS NULL AND expires_at > to_timestamp($2::float8 / 1000) AND purpose = ANY ($3)
     RETURNING ${linkColumns}`,
    [hash, nowMs, purposes],
  );
  return row === undefined ? null : linkOf(row);
}

/** Deletes the links that have expired. */
export async function deleteExpiredLinks(sql: Sql, nowMs: number): Promise<void> {
  await sql.query('DELETE FROM one_time_link WHERE expires_at <= to_timestamp($1::float8 / 1000)', [nowMs]);
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

/** Whether there is an account with this id. */
export async function accountExists(sql: Sql, accountId: number): Promise<boolean> {
  return (await sql.query('SELECT FROM account WHERE id = $1', [accountId])).length > 0;
}

function linkOf(row: RawLink): Link {
  const id = (value: bigint | null): number | null => (value === null ? null : Number(value));
  return {
    purpose: row.purpose,
    accountId: id(row.account_id),
    ownerId: id(row.owner_id),
    operatorId: id(row.operator_id),
    email: row.email,
    expiresAtMs: row.expires_at,
  };
}
