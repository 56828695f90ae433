import type { Sql } from '../store/sql.ts';

/** The states of a request; all but `pending` are final. */
export const topupStates = ['pending', 'confirmed', 'rejected', 'withdrawn'] as const;
export type TopupState = (typeof topupStates)[number];

/** A request of an account owner for credit. */
export interface TopupRequest {
  readonly id: number;
  readonly accountId: number;
  readonly amountMicro: bigint;
  readonly state: TopupState;
  /** The name on the transfer, by which an operator finds it. */
  readonly depositor: string | null;
  readonly note: string | null;
  readonly requestedAtMs: number;
  readonly decidedAtMs: number | null;
  readonly decidedBy: string | null;
  /** Why it was rejected. */
  readonly reason: string | null;
  readonly bankReference: string | null;
  readonly entryId: number | null;
}

/** How a request is decided. */
export interface TopupDecision {
  readonly state: Exclude<TopupState, 'pending'>;
  readonly decidedBy: string;
  readonly atMs: number;
  readonly reason?: string | null;
  readonly bankReference?: string | null;
  readonly entryId?: number | null;
}

interface RawRequest {
  readonly id: bigint;
  readonly account_id: bigint;
  readonly amount: bigint;
  readonly state: TopupState;
  readonly depositor: string | null;
  readonly note: string | null;
  readonly requested_at: number;
  readonly decided_at: number | null;
  readonly decided_by: string | null;
  readonly reason: string | null;
  readonly bank_reference: string | null;
  readonly entry_id: bigint | null;
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
  const rows = await sql.query<RawRequest>(
    `INSERT INTO topup_request (account_id, amount, depositor, note, requested_at)
     VALUES ($1, $2, $3, $4, to_timestamp($5::float8 / 1000)) RETURNING *`,
    [request.accountId, request.amountMicro, request.depositor, request.note, request.atMs],
  );
  return requestOf(rows[0] as RawRequest);
}

/**
 * Lets one request of an account be made at a time. Not a lock of the account's row: where it is on
 * another server than the requests, that lock ends before the request is visible.
 */
export async function lockRequestsOf(sql: Sql, accountId: number): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7236482621))', [`account ${accountId}`]);
}

export async function countPending(sql: Sql, accountId: number): Promise<number> {
  const [row] = await sql.query<{ count: bigint }>(
    "SELECT count(*) AS count FROM topup_request WHERE account_id = $1 AND state = 'pending'",
    [accountId],
  );
  return Number(row?.count ?? 0n);
}

/** A request, locked until the transaction ends; null when there is none. */
export async function lockTopupRequest(sql: Sql, id: number): Promise<TopupRequest | null> {
  const [row] = await sql.query<RawRequest>('SELECT * FROM topup_request WHERE id = $1 FOR UPDATE', [id]);
  return row === undefined ? null : requestOf(row);
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
  const rows = await sql.query<RawRequest>(
    `UPDATE topup_request SET state = $2, decided_by = $3, decided_at = to_timestamp($4::float8 / 1000), reason = $5,
       bank_reference = $6, entry_id = $7 WHERE id = $1 RETURNING *`,
    [id, state, decidedBy, atMs, reason, bankReference, entryId],
  );
  return requestOf(rows[0] as RawRequest);
}

/** The newest requests with an id below `beforeId`, of one account or all, of one state or all. */
export async function listTopupRequests(
  sql: Sql,
  page: {
    readonly accountId: number | null;
    readonly state: TopupState | null;
    readonly beforeId: number | null;
    readonly limit: number;
  },
): Promise<readonly TopupRequest[]> {
  const rows = await sql.query<RawRequest>(
    `SELECT * FROM topup_request WHERE ($1::bigint IS NULL OR account_id = $1) AND ($2::text IS NULL OR state = $2)
       AND ($3::bigint IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
    [page.accountId, page.state, page.beforeId, page.limit],
  );
  return rows.map(requestOf);
}

function requestOf(row: RawRequest): TopupRequest {
  return {
    id: Number(row.id),
    accountId: Number(row.account_id),
    amountMicro: row.amount,
    state: row.state,
    depositor: row.depositor,
    note: row.note,
    requestedAtMs: row.requested_at,
    decidedAtMs: row.decided_at,
    decidedBy: row.decided_by,
    reason: row.reason,
    bankReference: row.bank_reference,
    entryId: row.entry_id === null ? null : Number(row.entry_id),
  };
}
