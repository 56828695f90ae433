import { column, nullable, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import type { OperatorRole } from './audit.ts';

/** How a session began. */
export type SignInWay = 'password' | 'passkey' | 'oidc' | 'link' | 'key';

/** Whose session it is: of an account, with its owner or the key that opens it, or of an operator. */
export type SessionOwner =
  | { readonly accountId: number; readonly ownerId: number | null; readonly keyId?: number }
  | { readonly operatorId: number };

/** A key that is no longer accepted, its account's suspension included, ends the sessions that it opened. */
const sessions = recordOf({
  sessionId: column<string>('s.id::text'),
  accountId: nullable(number('s.account_id')),
  ownerId: nullable(number('s.owner_id')),
  operator: column<{
    readonly operatorId: number;
    readonly name: string;
    readonly role: OperatorRole;
  } | null>(
    "CASE WHEN o.id IS NOT NULL THEN json_build_object('operatorId', o.id, 'name', o.name, 'role', o.role) END",
  ),
  via: column<SignInWay>('s.via'),
  address: column<string>('s.address'),
  userAgent: column<string>('s.user_agent'),
  createdAtMs: column<number>('s.created_at'),
  lastSeenAtMs: column<number>('s.last_seen_at'),
  /** A session that makes no request for so long ends. */
  idleMs: column<number>('s.idle_ms'),
  expiresAtMs: column<number>('s.expires_at'),
  /** Whether the owner, operator or key that it belongs to still exists and may sign in, for an open account. */
  isValid:
    column<boolean>(`a.closed_at IS NULL AND (s.operator_id IS NULL OR o.id IS NOT NULL) AND (s.owner_id IS NULL OR w.id IS NOT NULL) AND (s.key_id IS NULL OR (
         k.revoked_at IS NULL AND NOT k.user_disabled AND NOT k.admin_suspended AND a.suspended_at IS NULL)) IS TRUE`),
  /** When the key that opened it expires; null: never, or none did. */
  keyExpiresAtMs: column<number | null>('k.expires_at'),
});

/** A session as stored. */
export type SessionRow = RowOf<typeof sessions>;

/**
 * Which sessions a caller may see and end: an owner's own and those of the account without an
 * owner; only the latter for such a session; those of one owner; of an account; an operator's own; of
 * all operators; or all.
 */
export type SessionScope =
  | { readonly kind: 'owner'; readonly accountId: number; readonly ownerId: number | null }
  | { readonly kind: 'one-owner'; readonly ownerId: number }
  | { readonly kind: 'account'; readonly accountId: number }
  | { readonly kind: 'operator'; readonly operatorId: number }
  | { readonly kind: 'operators' }
  | { readonly kind: 'all' };

const selectSession = `
SELECT ${sessions.columns}
FROM page_session s
LEFT JOIN operator o ON o.id = s.operator_id AND o.removed_at IS NULL
LEFT JOIN owner w ON w.id = s.owner_id AND w.account_id = s.account_id
LEFT JOIN api_key k ON k.account_id = s.account_id AND k.id = s.key_id
LEFT JOIN account a ON a.id = s.account_id`;

/** More than a person opens before the idle ones end. */
const maxListed = 10_000;

/** Stores a session and returns its id. */
export async function insertSession(
  sql: Sql,
  session: Pick<SessionRow, 'via' | 'address' | 'userAgent' | 'createdAtMs' | 'idleMs' | 'expiresAtMs'> & {
    readonly hash: Buffer;
    readonly owner: SessionOwner;
  },
): Promise<string> {
  const { owner } = session;
  const whose =
    'operatorId' in owner
      ? [null, null, null, owner.operatorId]
      : [owner.accountId, owner.ownerId, owner.keyId ?? null, null];
  const [row] = await sql.query<{ id: bigint }>(
    `INSERT INTO page_session (token_hash, account_id, owner_id, key_id, operator_id, via, address, user_agent, created_at, last_seen_at, expires_at, idle_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, to_timestamp($9::float8 / 1000), to_timestamp($9::float8 / 1000), to_timestamp($10::float8 / 1000), $11)
     RETURNING id`,
    [
      session.hash,
      ...whose,
      session.via,
      session.address,
      session.userAgent,
      session.createdAtMs,
      session.expiresAtMs,
      session.idleMs,
    ],
  );
  if (row === undefined) throw new Error('INSERT INTO page_session returned no row');
  return String(row.id);
}

/** The session with this token, whatever its state; null when there is none. */
export function findSessionByHash(sql: Sql, hash: Buffer): Promise<SessionRow | null> {
  return sessions.first(sql, `${selectSession} WHERE s.token_hash = $1`, [hash]);
}

/** The sessions of a scope, the latest first, in any state. */
export function listSessions(sql: Sql, scope: SessionScope): Promise<readonly SessionRow[]> {
  const { condition, values } = within(scope, 1);
  return sessions.all(
    sql,
    `${selectSession} WHERE ${condition} ORDER BY s.last_seen_at DESC, s.id DESC LIMIT ${maxListed}`,
    values,
  );
}

/** Writes that a session was used, unless another request wrote it after `unlessAfterMs`. */
export async function touchSession(
  sql: Sql,
  sessionId: string,
  nowMs: number,
  unlessAfterMs: number,
): Promise<void> {
  await sql.query(
    `UPDATE page_session SET last_seen_at = to_timestamp($2::float8 / 1000)
     WHERE id = $1 AND last_seen_at <= to_timestamp($3::float8 / 1000)`,
    [sessionId, nowMs, unlessAfterMs],
  );
}

/** Deletes the session with this token, if there is one. */
export async function deleteSessionByHash(sql: Sql, hash: Buffer): Promise<void> {
  await sql.query('DELETE FROM page_session WHERE token_hash = $1', [hash]);
}

/** Deletes one session of a scope, or all but one; returns how many. */
export async function deleteSessions(
  sql: Sql,
  scope: SessionScope,
  which: { readonly only: string } | { readonly except: string | null },
): Promise<number> {
  const { condition, values } = within(scope, 2);
  const [comparison, id] = 'only' in which ? ['=', which.only] : ['IS DISTINCT FROM', which.except];
  const rows = await sql.query(
    `DELETE FROM page_session s WHERE id ${comparison} $1::bigint AND ${condition} RETURNING id`,
    [id, ...values],
  );
  return rows.length;
}

/** Deletes expired sessions, links, steps and windows of attempts. */
export async function pruneExpired(sql: Sql, nowMs: number): Promise<void> {
  const ends = [
    ['page_session', 'expires_at'],
    ['page_session', "last_seen_at + idle_ms * interval '1 ms'"],
    ['one_time_link', 'expires_at'],
    ['sign_in_step', 'expires_at'],
    ['sign_in_attempt', 'window_ends_at'],
  ] as const;
  for (const [table, end] of ends)
    await sql.query(`DELETE FROM ${table} WHERE ${end} <= to_timestamp($1::float8 / 1000)`, [nowMs]);
}

/** The condition of a scope, with its parameters from `$first` on. */
function within(
  scope: SessionScope,
  first: number,
): { readonly condition: string; readonly values: readonly unknown[] } {
  switch (scope.kind) {
    case 'all':
      return { condition: 'true', values: [] };
    case 'operators':
      return { condition: 's.operator_id IS NOT NULL', values: [] };
    case 'one-owner':
      return { condition: `s.owner_id = $${first}`, values: [scope.ownerId] };
    case 'account':
      return { condition: `s.account_id = $${first}`, values: [scope.accountId] };
    case 'operator':
      return { condition: `s.operator_id = $${first}`, values: [scope.operatorId] };
    case 'owner':
      return {
        condition: `s.account_id = $${first} AND (s.owner_id IS NULL OR s.owner_id = $${first + 1}::bigint)`,
        values: [scope.accountId, scope.ownerId],
      };
  }
}
