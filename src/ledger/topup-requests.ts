import { isClosed } from '../accounts/accounts-sql.ts';
import { type MessageEvent, postEvents } from '../messages/events-sql.ts';
import { type Krw, krwOfMicro } from '../money/krw.ts';
import type { Database } from '../store/database.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import { grantWithin } from './credit.ts';
import { lockBalance } from './lots-sql.ts';
import {
  countPending,
  decideTopupRequest,
  insertTopupRequest,
  isBankReferenceUsed,
  listTopupRequests,
  lockRequestsOf,
  lockTopupRequest,
  type TopupDecision,
  type TopupRequest,
} from './topup-requests-sql.ts';

/** The maximum of requests of an account that wait for a decision. */
export const maxPendingTopups = 20;

/** What an account owner asks for. */
export interface TopupOrder {
  readonly accountId: number;
  readonly amount: Krw;
  readonly depositor: string | null;
  readonly note: string | null;
}

/**
 * The result of a request for a top-up or of its decision. `decided`: it was decided otherwise
 * before; `repeated`: in the same way, and nothing happened this time.
 */
export type TopupOutcome =
  | { readonly kind: 'done' | 'repeated'; readonly request: TopupRequest }
  | { readonly kind: 'decided'; readonly request: TopupRequest }
  | { readonly kind: 'not_found' | 'closed' | 'too_many' | 'reference_used' };

/** Who decides. */
export interface TopupDecider {
  readonly name: string;
  readonly atMs: number;
}

/** Records that an account owner asks for credit; no money moves. */
export function requestTopup(database: Database, order: TopupOrder, atMs: number): Promise<TopupOutcome> {
  return database.transaction(async (sql) => {
    // The lock bounds the number of requests, however many arrive at once.
    await lockRequestsOf(sql, order.accountId);
    if ((await lockBalance(sql, order.accountId)) === null) return { kind: 'not_found' };
    if ((await countPending(sql, order.accountId)) >= maxPendingTopups) return { kind: 'too_many' };
    const request = await insertTopupRequest(sql, { ...order, amountMicro: order.amount, atMs });
    await postEvents(sql, [eventOf('requested', request)], atMs);
    return { kind: 'done', request };
  });
}

/**
 * Confirms a request: one ledger entry, however often and on however many nodes it is confirmed.
 * The idempotency key of the entry is the request's, as a second line of defence.
 */
export function confirmTopup(
  database: Transactions,
  { id, bankReference }: { readonly id: number; readonly bankReference: string | null },
  by: TopupDecider,
): Promise<TopupOutcome> {
  const isSame = (request: TopupRequest): boolean =>
    bankReference === null || request.bankReference === bankReference;
  return decide(database, { id, by, state: 'confirmed', isSame }, async (sql, request) => {
    if (await isClosed(sql, request.accountId)) return 'closed';
    if (bankReference !== null && (await isBankReferenceUsed(sql, bankReference, id)))
      return 'reference_used';
    const granted = await grantWithin(
      sql,
      {
        accountId: request.accountId,
        kind: 'topup',
        amount: krwOfMicro(request.amountMicro),
        expiresAtMs: null,
        idempotencyKey: `topup-request:${id}`,
        memo: bankReference,
      },
      by.atMs,
    );
    if (!('entryId' in granted)) throw new Error(`top-up request ${id} cannot be granted: ${granted.kind}`);
    return { entryId: granted.entryId, bankReference };
  });
}

/** Rejects a request with a reason, which its owner sees. */
export function rejectTopup(
  database: Transactions,
  { id, reason }: { readonly id: number; readonly reason: string },
  by: TopupDecider,
): Promise<TopupOutcome> {
  return decide(database, { id, by, state: 'rejected' }, async () => ({ reason }));
}

/** Withdraws a request of this account. */
export function withdrawTopup(
  database: Transactions,
  { id, accountId }: { readonly id: number; readonly accountId: number },
  by: TopupDecider,
): Promise<TopupOutcome> {
  return decide(database, { id, by, state: 'withdrawn', onlyAccount: accountId }, async () => ({}));
}

/** Requests of one account or of all, newest first. */
export function readTopups(
  sql: Sql,
  page: Parameters<typeof listTopupRequests>[1],
): Promise<readonly TopupRequest[]> {
  return listTopupRequests(sql, page);
}

/**
 * `act` returns what is recorded with the decision; or why nothing may be decided.
 */
function decide(
  database: Transactions,
  {
    id,
    by,
    state,
    onlyAccount,
    isSame = () => true,
  }: {
    readonly id: number;
    readonly by: TopupDecider;
    readonly state: TopupDecision['state'];
    readonly onlyAccount?: number;
    /** Whether a request that has this state was decided as now. */
    readonly isSame?: (request: TopupRequest) => boolean;
  },
  act: (sql: Sql, request: TopupRequest) => Promise<Partial<TopupDecision> | 'closed' | 'reference_used'>,
): Promise<TopupOutcome> {
  return database.transaction(async (sql) => {
    const request = await lockTopupRequest(sql, id);
    if (request === null || (onlyAccount !== undefined && request.accountId !== onlyAccount))
      return { kind: 'not_found' };
    if (request.state !== 'pending')
      return { kind: request.state === state && isSame(request) ? 'repeated' : 'decided', request };
    const more = await act(sql, request);
    if (typeof more === 'string') return { kind: more };
    const decided = await decideTopupRequest(sql, id, {
      ...more,
      state,
      decidedBy: by.name,
      atMs: by.atMs,
    });
    if (state !== 'withdrawn') await postEvents(sql, [eventOf(state, decided)], by.atMs);
    return { kind: 'done', request: decided };
  });
}

function eventOf(what: 'requested' | 'confirmed' | 'rejected', request: TopupRequest): MessageEvent {
  const { id, accountId, amountMicro } = request;
  return {
    key: `topup:${id}:${what}`,
    kind: `topup.${what}`,
    accountId,
    data: { topup_id: id, amount_micro: String(amountMicro) },
  };
}
