import { decimalToScaled, divideHalfUp } from '../money/krw.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import { spend } from './lots.ts';
import { accountsAfter, type LotMove, type MonthSums, monthSums } from './month-lines-sql.ts';

/** How value added tax is computed. */
export interface Vat {
  /** Decimal text. */
  readonly percent: string;
  /** Whether prices contain it. */
  readonly included: boolean;
}

/** One account in one Seoul month, for a tax invoice; micro-won. */
export interface MonthStatement extends MonthSums {
  /** What bonus credit paid of the usage, negative as `usage`; the rest is paid for. */
  readonly usageOfBonus: bigint;
  /** The paid usage less the refunds. */
  readonly taxable: bigint;
  /** Whole won. */
  readonly supply: bigint;
  readonly vat: bigint;
}

/** Accounts of one read. */
const accountsOfRead = 200;

/**
 * The statements of accounts after `afterId` with entries on the Seoul days from `fromDay` to before
 * `toDay`, in the order of account and month, some accounts at a time (spec:money/3.10).
 */
export async function* monthStatements(
  database: Sql & Transactions,
  days: { readonly fromDay: string; readonly toDay: string },
  { onlyAccount = null, afterId = 0 }: { readonly onlyAccount?: number | null; readonly afterId?: number },
  vat: Vat,
): AsyncGenerator<readonly MonthStatement[]> {
  for (;;) {
    const accounts = await accountsAfter(database, { afterId, onlyAccount, limit: accountsOfRead });
    const last = accounts.at(-1);
    if (last === undefined) return;
    const { sums, moves } = await monthSums(database, { accounts, ...days });
    const ofBonus = usageOfBonus(moves);
    yield sums.map((row) => {
      const usage = ofBonus.get(keyOf(row.accountId, row.month)) ?? 0n;
      const taxable = -usage - row.usage - row.refunds;
      return { ...row, usageOfBonus: -usage, taxable, ...taxOf(taxable, vat) };
    });
    afterId = last;
  }
}

/**
 * What bonus lots paid of usage, by account and month: the moves again, in the order of spending.
 * Debt that a bonus pays later belongs to the month in which it is granted.
 */
function usageOfBonus(moves: readonly LotMove[]): ReadonlyMap<string, bigint> {
  const used = new Map<string, bigint>();
  for (const [accountId, own] of Map.groupBy(moves, (move) => move.accountId)) {
    let lots: readonly SpentLot[] = [];
    let owed = 0n;
    const use = (month: string | null, amount: bigint): void => {
      const key = keyOf(accountId, month ?? '');
      used.set(key, (used.get(key) ?? 0n) + amount);
    };
    const charge = ({ kind, month }: LotMove): void => {
      if (owed <= 0n) return;
      const { lots: changed, taken } = spend(lots, owed);
      owed -= taken;
      const leftOf = new Map(changed.map(({ id, remaining }) => [id, remaining]));
      const left = lots.map((lot) => ({ ...lot, remaining: leftOf.get(lot.id) ?? lot.remaining }));
      if (kind !== 'adjustment') use(month, bonusOf(lots) - bonusOf(left));
      lots = left.filter(({ remaining }) => remaining > 0n);
    };
    for (const [at, move] of own.entries()) {
      const { kind, month, amount, lotId, lotKind, expiresAtMs } = move;
      if (kind === 'expiry') {
        // Above zero it is late usage, paid with credit that had expired.
        if (amount < 0n) lots = lots.filter(({ id }) => id !== lotId);
        else owed -= amount;
        if (amount > 0n && lotKind === 'bonus') use(month, amount);
      } else if (lotId === null) owed -= amount;
      else
        lots = inOrder([
          ...lots,
          { id: lotId, remaining: amount, expiresAtMs, isBonus: lotKind === 'bonus' },
        ]);
      const next = own[at + 1];
      const isLate = next?.kind === 'expiry' && next.amount > 0n;
      if (!isLate) charge(move);
    }
  }
  return used;
}

function bonusOf(lots: readonly SpentLot[]): bigint {
  return lots.reduce((sum, { isBonus, remaining }) => sum + (isBonus ? remaining : 0n), 0n);
}

interface SpentLot {
  readonly id: number;
  readonly remaining: bigint;
  readonly expiresAtMs: number | null;
  readonly isBonus: boolean;
}

/** First to expire first, then the oldest. */
function inOrder(lots: readonly SpentLot[]): readonly SpentLot[] {
  const at = ({ expiresAtMs }: SpentLot): number => expiresAtMs ?? Number.MAX_VALUE;
  return lots.toSorted((a, b) => at(a) - at(b) || a.id - b.id);
}

function keyOf(accountId: number, month: string): string {
  return `${accountId} ${month}`;
}

const percentDecimals = 6;
const whole = 100n * 10n ** BigInt(percentDecimals);
const won = 1_000_000n;

/**
 * The supply value and the tax, whole won. The sum of an account is rounded once, half up. Where
 * prices contain the tax, the supply value is rounded half up too, and the tax is the rest;
 * otherwise the tax is added, and its fraction of a won dropped. A sum below zero is mirrored.
 */
export function taxOf(
  taxable: bigint,
  { percent, included }: Vat,
): { readonly supply: bigint; readonly vat: bigint } {
  const rate = decimalToScaled(percent, percentDecimals) ?? 0n;
  const sign = taxable < 0n ? -won : won;
  const total = divideHalfUp(taxable < 0n ? -taxable : taxable, won);
  const supply = included ? divideHalfUp(total * whole, whole + rate) : total;
  const vat = included ? total - supply : (total * rate) / whole;
  return { supply: sign * supply, vat: sign * vat };
}
