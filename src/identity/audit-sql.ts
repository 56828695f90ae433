import { column, nullable, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import type { Act, Actor, OperatorRole } from './audit.ts';

const maxReasonLength = 2_000;

const acts = recordOf({
  id: number('id'),
  atMs: column<number>('at'),
  operatorId: nullable(number('operator_id')),
  who: column<string>('who'),
  role: column<OperatorRole | 'cli'>('role'),
  act: column<string>('act'),
  accountId: nullable(number('account_id')),
  subject: column<string | null>('subject'),
  reason: column<string | null>('reason'),
  before: column<Readonly<Record<string, unknown>> | null>('before'),
  after: column<Readonly<Record<string, unknown>> | null>('after'),
});

/** An act as recorded. */
export type AuditRow = RowOf<typeof acts>;

/** Which acts to read; absent members do not restrict. */
export interface AuditQuery {
  readonly limit: number;
  /** Only acts with a smaller id: the next page. */
  readonly beforeId?: number | undefined;
  readonly operatorId?: number | undefined;
  readonly role?: OperatorRole | 'cli' | undefined;
  readonly act?: string | undefined;
  readonly accountId?: number | undefined;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

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
export function readActs(sql: Sql, query: AuditQuery): Promise<readonly AuditRow[]> {
  return acts.all(
    sql,
    `SELECT ${acts.columns} FROM audit_entry
     WHERE ($2::bigint IS NULL OR id < $2) AND ($3::bigint IS NULL OR operator_id = $3) AND ($4::text IS NULL OR role = $4)
       AND ($5::text IS NULL OR act = $5) AND ($6::bigint IS NULL OR account_id = $6)
       AND ($7::float8 IS NULL OR at >= to_timestamp($7::float8 / 1000)) AND ($8::float8 IS NULL OR at < to_timestamp($8::float8 / 1000))
     ORDER BY id DESC LIMIT $1`,
    [
      query.limit,
      query.beforeId,
      query.operatorId,
      query.role,
      query.act,
      query.accountId,
      query.fromMs,
      query.toMs,
    ],
  );
}

/** Amounts are bigint, which JSON has no form for. */
function jsonOf(value: object | null | undefined): string | null {
  if (value === null || value === undefined) return null;
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'bigint' ? String(inner) : inner,
  );
}

/** The names of all acts in the log, in order; reads one row of the index for each. */
export async function readActNames(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.query<{ act: string }>(
    `WITH RECURSIVE name AS (
       (SELECT act FROM audit_entry ORDER BY act LIMIT 1)
       UNION ALL
       SELECT (SELECT act FROM audit_entry e WHERE e.act > name.act ORDER BY act LIMIT 1) FROM name WHERE name.act IS NOT NULL)
     SELECT act FROM name WHERE act IS NOT NULL`,
  );
  return rows.map(({ act }) => act);
}
