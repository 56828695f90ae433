import { column, nullable, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

/** The states of a request; all but `pending` are final. */
export const topupStates = ['pending', 'confirmed', 'rejected', 'withdrawn'] as const;
export type TopupState = (typeof topupStates)[number];

const requests = recordOf({
  id: number('id'),
  accountId: number('account_id'),
  amountMicro: column<bigint>('amount'),
  state: column<TopupState>('state'),
  /** The name on the transfer, by which an operator finds it. */
  depositor: column<string | null>('depositor'),
  note: column<string | null>('note'),
  requestedAtMs: column<number>('requested_at'),
  decidedAtMs: column<number | null>('decided_at'),
  decidedBy: column<string | null>('decided_by'),
  /** Why it was rejected. */
  reason: column<string | null>('reason'),
  bankReference: column<string | null>('bank_reference'),
  entryId: nullable(number('entry_id')),
});

/** A request of an account owner for credit. */
export type TopupRequest = RowOf<typeof requests>;

/** How a request is decided. */
export interface TopupDecision {
  readonly state: Exclude<TopupState, 'pending'>;
  readonly decidedBy: string;
  readonly atMs: number;
  readonly reason?: string | null;
  readonly bankReference?: string | null;
  readonly entryId?: number | null;
}

export async function insertTopupRequest(
  sql: Sql,
  request: {
    readonly accountId: number;
    readonly amountMicro: bigint;
    readonly depositor: string | null;
    readonly note: string | null;
    readonly atMs: number;
  },
): Promise<TopupRequest> {
  const made = await requests.first(
    sql,
    `INSERT INTO topup_request (account_id, amount, depositor, note, requested_at)
     VALUES ($1, $2, $3, $4, to_timestamp($5::float8 / 1000)) RETURNING ${requests.columns}`,
    [request.accountId, request.amountMicro, request.depositor, request.note, request.atMs],
  );
  return made as TopupRequest;
}

/**
 * Lets one request of an account be made at a time. Not a lock of the account's row: where it is on
 * another server than the requests, that lock ends before the request is visible.
 */
export async function lockRequestsOf(sql: Sql, accountId: number): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7236482621))', [`account ${accountId}`]);
}

/** How many requests of an account, or of all (null), wait. */
export async function countPending(sql: Sql, accountId: number | null): Promise<number> {
  const [row] = await sql.query<{ count: bigint }>(
    "SELECT count(*) AS count FROM topup_request WHERE state = 'pending' AND ($1::bigint IS NULL OR account_id = $1)",
    [accountId],
  );
  return Number(row?.count ?? 0n);
}

/** A request, locked until the transaction ends; null when there is none. */
export function lockTopupRequest(sql: Sql, id: number): Promise<TopupRequest | null> {
  return requests.first(sql, `SELECT ${requests.columns} FROM topup_request WHERE id = $1 FOR UPDATE`, [id]);
}

/**
 * Whether a transfer already paid another request. Until the transaction ends, nobody else can
 * decide with this reference.
 */
export async function isBankReferenceUsed(sql: Sql, reference: string, exceptId: number): Promise<boolean> {
  await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7236482621))', [reference]);
  const rows = await sql.query('SELECT 1 FROM topup_request WHERE bank_reference = $1 AND id <> $2', [
    reference,
    exceptId,
  ]);
  return rows.length > 0;
}

export async function decideTopupRequest(
  sql: Sql,
  id: number,
  { state, decidedBy, atMs, reason = null, bankReference = null, entryId = null }: TopupDecision,
): Promise<TopupRequest> {
  const decided = await requests.first(
    sql,
    `UPDATE topup_request SET state = $2, decided_by = $3, decided_at = to_timestamp($4::float8 / 1000), reason = $5,
       bank_reference = $6, entry_id = $7 WHERE id = $1 RETURNING ${requests.columns}`,
    [id, state, decidedBy, atMs, reason, bankReference, entryId],
  );
  return decided as TopupRequest;
}

/** The newest requests with an id below `beforeId`, of one account or all, of one state or all. */
export function listTopupRequests(
  sql: Sql,
  page: {
    readonly accountId: number | null;
    readonly state: TopupState | null;
    readonly beforeId: number | null;
    readonly limit: number;
  },
): Promise<readonly TopupRequest[]> {
  return requests.all(
    sql,
    `SELECT ${requests.columns} FROM topup_request WHERE ($1::bigint IS NULL OR account_id = $1) AND ($2::text IS NULL OR state = $2)
       AND ($3::bigint IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
    [page.accountId, page.state, page.beforeId, page.limit],
  );
}
