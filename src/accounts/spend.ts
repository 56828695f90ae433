import { type LimitReset, periodStartDay } from '../time/period.ts';
import type { KeyRow } from './keys-sql.ts';

/**
 * What a key spent in the periods that contain one Seoul day; micro-won. A value: every function
 * returns a new one.
 */
export interface Spend {
  /** The Seoul day of the periods. */
  readonly day: number;
  readonly daily: bigint;
  readonly weekly: bigint;
  readonly monthly: bigint;
  readonly total: bigint;
}

/** Nothing spent, as of a day. */
export function noSpend(day: number): Spend {
  return { day, daily: 0n, weekly: 0n, monthly: 0n, total: 0n };
}

/**
 * The same spend as of a later (or the same) day: periods that have ended since count nothing
 * (spec:money/7.1).
 */
export function rollTo(spend: Spend, day: number): Spend {
  if (day === spend.day) return spend;
  const kept = (reset: LimitReset, amount: bigint): bigint =>
    periodStartDay(reset, day) === periodStartDay(reset, spend.day) ? amount : 0n;
  return {
    day,
    daily: kept('daily', spend.daily),
    weekly: kept('weekly', spend.weekly),
    monthly: kept('monthly', spend.monthly),
    total: spend.total,
  };
}

/**
 * The spend after a debit on `day`. A debit of an earlier day than the spend's (the civil clock was
 * set back) counts in those periods that contain both days.
 */
export function addDebit(spend: Spend, day: number, amount: bigint): Spend {
  const now = day > spend.day ? rollTo(spend, day) : spend;
  const counts = (reset: LimitReset): bigint =>
    day === now.day || periodStartDay(reset, day) === periodStartDay(reset, now.day) ? amount : 0n;
  return {
    day: now.day,
    daily: now.daily + counts('daily'),
    weekly: now.weekly + counts('weekly'),
    monthly: now.monthly + counts('monthly'),
    total: now.total + amount,
  };
}

/** The part that a limit with this reset is compared with: all time for `never`. */
export function spendOf(spend: Spend, reset: LimitReset): bigint {
  switch (reset) {
    case 'never':
      return spend.total;
    case 'daily':
      return spend.daily;
    case 'weekly':
      return spend.weekly;
    case 'monthly':
      return spend.monthly;
  }
}

/** What counts against the limit of a key, and what is left of it, never below 0; null: no limit. */
export function usedOf(
  spend: Spend,
  { limitMicro, limitReset }: Pick<KeyRow, 'limitMicro' | 'limitReset'>,
): { readonly used: bigint; readonly left: bigint | null } {
  const used = spendOf(spend, limitReset);
  return { used, left: limitMicro === null ? null : limitMicro > used ? limitMicro - used : 0n };
}
