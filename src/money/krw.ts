/**
 * Won, as a count of micro-won (1 KRW = 1,000,000), so that sums are exact (spec:money/1.1). Only
 * this folder does arithmetic between units of money.
 */
declare const unit: unique symbol;
export type Krw = bigint & { readonly [unit]: 'micro-won' };

const microPerWon = 1_000_000n;

/** No money. */
export const zeroKrw = 0n as Krw;

/**
 * The largest amount that an entry point accepts: 10^15 won. A PostgreSQL bigint of micro-won ends
 * at 9.2 × 10^12 won: limits are stored as numeric.
 */
export const maxKrw = (10n ** 15n * microPerWon) as Krw;

/** Marks a number of micro-won, as read from storage, as money. */
export function krwOfMicro(micro: bigint): Krw {
  return micro as Krw;
}

/**
 * `"-1234.500000"`: the six-decimal string of error bodies, the ledger export and the command line
 * (spec:money/1.3).
 */
export function krwToDecimal(amount: Krw): string {
  const sign = amount < 0n ? '-' : '';
  const magnitude = amount < 0n ? -amount : amount;
  return `${sign}${magnitude / microPerWon}.${String(magnitude % microPerWon).padStart(6, '0')}`;
}

/** `"-1,234.5"`: an amount in a sentence for people, with separators and without trailing zeros. */
export function krwToText(amount: Krw): string {
  return withSeparators(krwToDecimal(amount).replace(/\.?0{1,6}$/, ''));
}

/** A decimal number with separators of its thousands: `"-1,234.5"`. */
export function withSeparators(decimal: string): string {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(.*)$/.exec(decimal) ?? [];
  return `${sign}${BigInt(whole).toLocaleString('en')}${fraction}`;
}

/**
 * The JSON number of an amount, in won: the double nearest to the exact six-decimal value. It
 * prints those decimals again below 2^33 won, about 8.5 billion; from there on doubles are further
 * apart than micro-won.
 */
export function krwToNumber(amount: Krw): number {
  const micro = Number(amount);
  // A quotient of two exact doubles is rounded once, so it is the double nearest to the decimal
  // value.
  return Number.isSafeInteger(micro) ? micro / 1e6 : Number(krwToDecimal(amount));
}

/**
 * An amount in won from decimal text (`"5000"`, `"0.5"`, `"1e3"`), rounded half away from zero to
 * the micro-won. Null when the text is not a finite decimal number or is beyond 10^15 won either
 * way.
 */
export function krwFromDecimal(text: string): Krw | null {
  const micro = decimalToScaled(text, 6);
  if (micro === null || micro > maxKrw || micro < -maxKrw) return null;
  return micro as Krw;
}

/**
 * An amount in won from a JSON number; null when it is not finite or beyond 10^15 won either way
 * (spec:money/7.3).
 */
export function krwFromNumber(won: number): Krw | null {
  return Number.isFinite(won) ? krwFromDecimal(String(won)) : null;
}

/**
 * Decimal text times 10^decimals as an integer, rounded half away from zero; null when the text is
 * not a decimal number or its exponent is beyond ±400 (no amount of money is that large or small).
 */
export function decimalToScaled(text: string, decimals: number): bigint | null {
  const exact = exactDecimal(text);
  if (exact === null) return null;
  const { negative, digits } = exact;
  const shift = decimals - exact.decimals;
  const magnitude = shift >= 0 ? digits * 10n ** BigInt(shift) : divideHalfUp(digits, 10n ** BigInt(-shift));
  return negative ? -magnitude : magnitude;
}

/**
 * Whether decimal text has a part that is smaller than a micro-won, in any notation: `0.0000015`
 * and `1.5e-6` have.
 */
export function isFinerThanMicroWon(text: string): boolean {
  const exact = exactDecimal(text);
  return exact !== null && exact.decimals > 6 && exact.digits % 10n ** BigInt(exact.decimals - 6) !== 0n;
}

/** The number of decimal text, as `digits` / 10^`decimals`; null when it cannot be money. */
function exactDecimal(
  text: string,
): { readonly negative: boolean; readonly digits: bigint; readonly decimals: number } | null {
  const parts = /^([+-]?)(\d{0,400})(?:\.(\d{0,400}))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (parts === null) return null;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  if (whole === '' && fraction === '') return null;
  const power = Number(exponent);
  if (Math.abs(power) > 400) return null;
  return { negative: sign === '-', digits: BigInt(whole + fraction), decimals: fraction.length - power };
}

/** The quotient of two non-negative integers, rounded half up. */
export function divideHalfUp(dividend: bigint, divisor: bigint): bigint {
  return (2n * dividend + divisor) / (2n * divisor);
}
