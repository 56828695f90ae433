import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';

/** What an operator may do: read; grant credit up to a limit and suspend keys; everything. */
export const operatorRoles = ['viewer', 'support', 'admin'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

/** Who acts: an operator of the console, or a user of the command line, whose credential are the rights of files. */
export type Actor =
  | {
      readonly kind: 'operator';
      readonly operatorId: number;
      readonly name: string;
      readonly role: OperatorRole;
    }
  | { readonly kind: 'cli'; readonly name: string };

/** One act. It names owners and keys by id or hash, never by personal data: the log outlives that. */
export interface Act {
  /** Such as `credit.grant`. */
  readonly act: string;
  readonly accountId?: number;
  /** What it was done to, such as the hash of a key. */
  readonly subject?: string;
  readonly reason?: string | null;
  readonly before?: object | null;
  readonly after?: object | null;
}

/** An act as recorded. */
export interface AuditRow {
  readonly id: number;
  readonly atMs: number;
  readonly operatorId: number | null;
  readonly who: string;
  readonly role: OperatorRole | 'cli';
  readonly act: string;
  readonly accountId: number | null;
  readonly subject: string | null;
  readonly reason: string | null;
  readonly before: unknown;
  readonly after: unknown;
}

/** Which acts to read; absent members do not restrict. */
export interface AuditQuery {
  readonly limit: number;
  /** Only acts with a smaller id: the next page. */
  readonly beforeId?: number;
  readonly operatorId?: number;
  readonly role?: OperatorRole | 'cli';
  readonly act?: string;
  readonly accountId?: number;
  readonly fromMs?: number;
  readonly toMs?: number;
}

const maxReasonLength = 2_000;

/** Records an act, in the transaction of the act where there is one. */
export async function recordAct(sql: Sql, actor: Actor, act: Act, nowMs: number): Promise<void> {
  await sql.query(
    `INSERT INTO audit_entry (at, operator_id, who, role, act, account_id, subject, reason, before, after)
     VALUES (to_timestamp($1::float8 / 1000), $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      nowMs,
      actor.kind === 'operator' ? actor.operatorId : null,
      actor.name,
      actor.kind === 'operator' ? actor.role : 'cli',
      act.act,
      act.accountId ?? null,
      act.subject ?? null,
      act.reason?.slice(0, maxReasonLength) ?? null,
      jsonOf(act.before),
      jsonOf(act.after),
    ],
  );
}

/** Acts, newest first, at most `limit`. */
export async function readActs(database: Database, query: AuditQuery): Promise<readonly AuditRow[]> {
  const rows = await database.query<{
    id: bigint;
    at: number;
    operator_id: bigint | null;
    who: string;
    role: AuditRow['role'];
    act: string;
    account_id: bigint | null;
    subject: string | null;
    reason: string | null;
    before: unknown;
    after: unknown;
  }>(
    `SELECT id, at, operator_id, who, role, act, account_id, subject, reason, before, after FROM audit_entry
     WHERE ($2::bigint IS NULL OR id < $2) AND ($3::bigint IS NULL OR operator_id = $3) AND ($4::text IS NULL OR role = $4)
       AND ($5::text IS NULL OR act = $5) AND ($6::bigint IS NULL OR account_id = $6)
       AND ($7::float8 IS NULL OR at >= to_timestamp($7::float8 / 1000)) AND ($8::float8 IS NULL OR at < to_timestamp($8::float8 / 1000))
     ORDER BY id DESC LIMIT $1`,
    [
      query.limit,
      query.beforeId ?? null,
      query.operatorId ?? null,
      query.role ?? null,
      query.act ?? null,
      query.accountId ?? null,
      query.fromMs ?? null,
      query.toMs ?? null,
    ],
  );
  return rows.map((row) => ({
    id: Number(row.id),
    atMs: row.at,
    operatorId: row.operator_id === null ? null : Number(row.operator_id),
    who: row.who,
    role: row.role,
    act: row.act,
    accountId: row.account_id === null ? null : Number(row.account_id),
    subject: row.subject,
    reason: row.reason,
    before: row.before,
    after: row.after,
  }));
}

/** Amounts are bigint, which JSON has no form for. */
function jsonOf(value: object | null | undefined): string | null {
  if (value === null || value === undefined) return null;
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'bigint' ? String(inner) : inner,
  );
}
