import { type Krw, krwOfMicro } from '../money/krw.ts';
import { recordChange } from '../store/changes.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import type { GenerationUuid } from '../wire/ids/generation-id.ts';
import { chargeLots } from './credit.ts';
import { findEarlierEntry, post, refundedOf, type WantedEntry } from './ledger-sql.ts';
import { findCost, insertLot, lockBalance } from './lots-sql.ts';
import { returnToKey } from './usage-sql.ts';

/** A refund of a generation's cost, in whole or in part. */
export interface Refund {
  readonly generation: GenerationUuid;
  /** Refunds only a generation of this account; absent: of any. */
  readonly onlyAccount?: number;
  /** Null: the part of the cost that is not refunded yet. */
  readonly amount: Krw | null;
  /** The reason, for the ledger; not empty. */
  readonly reason: string;
  /** It counts against the limit of the generation's key no more (spec:money/7.10). Absent: it does. */
  readonly toKeyLimit?: boolean;
  readonly idempotencyKey: string | null;
}

/** A change of an account's credit at the operator's discretion. */
export interface Adjustment {
  readonly accountId: number;
  /** Above zero adds credit that never expires, below zero deducts; not zero. */
  readonly amount: Krw;
  readonly reason: string;
  readonly idempotencyKey: string | null;
}

/**
 * The result of a correction. `left` is the part of the generation's cost that may still be
 * refunded.
 */
export type CorrectionOutcome =
  | { readonly kind: 'done' | 'repeated'; readonly entryId: number; readonly amount: Krw }
  | { readonly kind: 'conflict' | 'not_found' }
  | { readonly kind: 'too_much'; readonly left: Krw };

/**
 * Refunds what a generation cost, at most once in all. The entry of the generation does not change.
 */
export function refundGeneration(
  database: Transactions,
  refund: Refund,
  atMs: number,
): Promise<CorrectionOutcome> {
  return database.transaction(async (sql) => {
    const billed = await findCost(sql, refund.generation);
    if (billed === null || billed.cost === 0n) return { kind: 'not_found' };
    const { accountId, cost } = billed;
    if (refund.onlyAccount !== undefined && refund.onlyAccount !== accountId) return { kind: 'not_found' };
    // The lock comes first: it orders two refunds of one generation.
    await lockBalance(sql, accountId);
    const wanted = { ...refund, accountId, kind: 'refund' as const, refundOf: refund.generation };
    const earlier = await earlierOutcome(sql, wanted);
    if (earlier !== null) return earlier;
    const left = krwOfMicro(cost - (await refundedOf(sql, accountId, refund.generation)));
    const amount = refund.amount ?? left;
    if (amount > left || left === 0n) return { kind: 'too_much', left };
    const keyId = refund.toKeyLimit === true ? await returnToKey(sql, { ...wanted, amount }) : null;
    const entryId = await credit(sql, { ...wanted, amount, keyId }, atMs);
    if (keyId !== null) await recordChange(sql, 'key', keyId);
    return { kind: 'done', entryId, amount };
  });
}

/** Adds to or deducts from an account's credit. */
export function adjustCredit(
  database: Transactions,
  adjustment: Adjustment,
  atMs: number,
): Promise<CorrectionOutcome> {
  return database.transaction((sql) => adjustWithin(sql, adjustment, atMs));
}

/** The same within a transaction of the caller. */
export async function adjustWithin(
  sql: Sql,
  adjustment: Adjustment,
  atMs: number,
): Promise<CorrectionOutcome> {
  const { accountId, amount } = adjustment;
  if ((await lockBalance(sql, accountId)) === null) return { kind: 'not_found' };
  const correction = { ...adjustment, kind: 'adjustment' as const, refundOf: null };
  const earlier = await earlierOutcome(sql, correction);
  if (earlier !== null) return earlier;
  const entryId = amount > 0n ? await credit(sql, correction, atMs) : await debit(sql, correction, atMs);
  return { kind: 'done', entryId, amount };
}

interface Correction {
  readonly accountId: number;
  readonly amount: Krw;
  readonly kind: 'refund' | 'adjustment';
  readonly reason: string;
  readonly refundOf: GenerationUuid | null;
  readonly keyId?: number | null;
  readonly idempotencyKey: string | null;
}

async function credit(sql: Sql, correction: Correction, atMs: number): Promise<number> {
  const { accountId, amount, kind } = correction;
  await chargeLots(sql, accountId);
  const lot = await insertLot(sql, { accountId, kind, amountMicro: amount, expiresAtMs: null, atMs });
  return append(sql, correction, lot, { credits: amount, usage: 0n }, atMs);
}

/** Usage that no generation caused; the lots are charged with it when they are next read. */
async function debit(sql: Sql, correction: Correction, atMs: number): Promise<number> {
  return append(sql, correction, { lotId: null }, { credits: 0n, usage: -correction.amount }, atMs);
}

async function append(
  sql: Sql,
  { accountId, amount, kind, reason, refundOf, keyId = null, idempotencyKey }: Correction,
  lot: { readonly lotId: number | null; readonly lotDigest?: bigint },
  moved: { readonly credits: bigint; readonly usage: bigint },
  atMs: number,
): Promise<number> {
  const entry = {
    ...lot,
    accountId,
    kind,
    amountMicro: amount,
    idempotencyKey,
    memo: reason,
    refundOf,
    keyId,
    atMs,
  };
  const [entryId = 0] = await post(sql, [{ accountId, ...moved, lotApplied: 0n }], [entry]);
  await recordChange(sql, 'account', accountId);
  return entryId;
}

/** The outcome of an earlier act with the same idempotency key; null when there was none. */
async function earlierOutcome(
  sql: Sql,
  wanted: Omit<WantedEntry, 'memo' | 'expiresAtMs'> & { readonly reason: string },
): Promise<CorrectionOutcome | null> {
  const entry = await findEarlierEntry(sql, { ...wanted, memo: wanted.reason, expiresAtMs: null });
  if (entry === null) return null;
  return entry.isSame
    ? { kind: 'repeated', entryId: entry.id, amount: krwOfMicro(entry.amountMicro) }
    : { kind: 'conflict' };
}
