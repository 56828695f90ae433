/**
 * Won from micro-won. The API sends amounts as decimal strings of micro-won; they become `bigint`
 * and text, never a float. One won is 1,000,000 micro-won.
 */
export type Language = 'ko' | 'en';

/** Micro-won as the API sends them, or already parsed. */
export type Micro = string | bigint;

const microPerWon = 1_000_000n;

/** Parses the API's string of micro-won. Throws when it is not an integer: the API would be wrong. */
export function parseMicro(micro: Micro): bigint {
  if (typeof micro === 'bigint') return micro;
  if (!/^-?\d+$/.test(micro)) throw new Error(`not an amount of micro-won: ${JSON.stringify(micro)}`);
  return BigInt(micro);
}

/** How an amount is written. */
export interface MoneyStyle {
  /** The most decimals, 0 to 6; more are rounded half away from zero. Trailing zeros are cut. */
  readonly maxDecimals?: number;
  /** `+` before an amount above zero, for changes of a balance. */
  readonly signed?: boolean;
}

/**
 * `1,234,568원` in Korean, `₩1,234,568` in English (spec:pages, Conventions). Without
 * `maxDecimals` every decimal that is not zero is shown: what a page shows is the exact amount.
 */
export function formatMoney(micro: Micro, language: Language, style: MoneyStyle = {}): string {
  const value = parseMicro(micro);
  const rounded = roundTo(value < 0n ? -value : value, style.maxDecimals ?? 6);
  const number = groupedDecimal(rounded);
  const sign = rounded === 0n ? '' : value < 0n ? '-' : style.signed === true ? '+' : '';
  return language === 'ko' ? `${sign}${number}원` : `${sign}₩${number}`;
}

/** The amount in won with all six decimals, `-1234.500000`: for files. */
export function exactWon(micro: Micro): string {
  const [whole = '', fraction = ''] = decimalWon(micro).split('.');
  return `${whole}.${fraction.padEnd(6, '0')}`;
}

/** The amount as a plain decimal of won, `-1234.5`: for inputs. */
export function decimalWon(micro: Micro): string {
  const value = parseMicro(micro);
  const magnitude = value < 0n ? -value : value;
  return `${value < 0n ? '-' : ''}${decimal(magnitude, String)}`;
}

/**
 * Micro-won from what a person types: `1,234.5`, `1234원`, `₩1234`. Null when it is not an amount,
 * or has more than six decimals.
 */
export function parseWon(text: string): bigint | null {
  const found = /^([-+]?)\s*₩?\s*(\d{1,15}|\d{1,3}(?:,\d{3}){1,4})(?:\.(\d{1,6}))?\s*원?$/.exec(text.trim());
  if (found === null) return null;
  const [, sign, whole = '', fraction = ''] = found;
  const micro = BigInt(whole.replaceAll(',', '')) * microPerWon + BigInt(fraction.padEnd(6, '0'));
  return sign === '-' ? -micro : micro;
}

/**
 * An amount on an axis that ends at `maxMicro`: every label of one axis has the same unit, `2.5만원` below
 * `10만원`. Plotted numbers, so never an amount that is billed.
 */
export function formatMoneyAxis(micro: number, maxMicro: number, language: Language): string {
  const unit = unitOf(maxMicro / 1e6, language);
  const value = micro / 1e6 / unit.size;
  const text = `${trimmed(value)}${value === 0 ? '' : unit.name}`;
  return language === 'ko' ? `${text}원` : `₩${text}`;
}

/** A count on an axis that ends at `max`, with the unit that all its labels have. */
export function formatCountAxis(count: number, max: number, language: Language): string {
  const unit = unitOf(max, language);
  const value = count / unit.size;
  return `${trimmed(value)}${value === 0 ? '' : unit.name}`;
}

/** The price of 1,000,000 tokens, from the price of one token in micro-won as decimal text: `1,200원`. */
export function formatPricePerMillion(microPerMillion: Micro, language: Language): string {
  return formatMoney(microPerMillion, language);
}

/** A share of money as a fraction from 0 to 1, for a bar's width only; 0 when there is no whole. */
export function shareOf(part: Micro, whole: Micro): number {
  const total = parseMicro(whole);
  if (total <= 0n) return 0;
  const scaled = (parseMicro(part) * 10_000n) / total;
  return Math.min(1, Math.max(0, Number(scaled) / 10_000));
}

/** Groups of three digits: `1234567` becomes `1,234,567`. */
export function groupDigits(value: bigint): string {
  return value.toString().replace(/\B(?=(\d{3})+$)/g, ',');
}

const units: Readonly<Record<Language, readonly (readonly [size: bigint, name: string])[]>> = {
  ko: [
    [1_0000_0000_0000_0000n, '경'],
    [1_0000_0000_0000n, '조'],
    [1_0000_0000n, '억'],
    [1_0000n, '만'],
  ],
  en: [
    [1_000_000_000_000_000n, 'Q'],
    [1_000_000_000_000n, 'T'],
    [1_000_000_000n, 'B'],
    [1_000_000n, 'M'],
    [1_000n, 'K'],
  ],
};

/** From where an axis has a unit: nobody says 0.5만. */
const minWithUnit: Readonly<Record<Language, number>> = { ko: 100_000, en: 10_000 };

/** The unit of an axis. */
function unitOf(max: number, language: Language): { readonly size: number; readonly name: string } {
  const found =
    max < minWithUnit[language] ? undefined : units[language].find(([size]) => max >= Number(size));
  return found === undefined ? { size: 1, name: '' } : { size: Number(found[0]), name: found[1] };
}

/** A plotted number with at most six significant decimals, digits in groups. */
function trimmed(value: number): string {
  const [whole = '0', fraction = ''] = String(Number(value.toFixed(6))).split('.');
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ',')}${fraction === '' ? '' : `.${fraction}`}`;
}

/** `1.2억`, `3,456만`; `1.23M`, `45K`. At least 10,000. */
export function compact(value: bigint, language: Language): string {
  const [unit, name] = units[language].find(([size]) => value >= size) ?? [1n, ''];
  if (name === '') return groupDigits(value);
  const hundredths = (value * 100n) / unit;
  const kept = hundredths >= 10_000n ? 0 : hundredths >= 1_000n ? 1 : 2;
  const step = 10n ** BigInt(2 - kept);
  const rounded = ((hundredths + step / 2n) / step) * step;
  const fraction = (rounded % 100n).toString().padStart(2, '0').replace(/0+$/, '');
  return `${groupDigits(rounded / 100n)}${fraction === '' ? '' : `.${fraction}`}${name}`;
}

/** Rounds micro-won, zero or more, to so many decimals of a won, half up. */
function roundTo(magnitude: bigint, maxDecimals: number): bigint {
  const step = 10n ** BigInt(6 - Math.min(6, Math.max(0, maxDecimals)));
  return ((magnitude + step / 2n) / step) * step;
}

function groupedDecimal(magnitude: bigint): string {
  return decimal(magnitude, groupDigits);
}

function decimal(magnitude: bigint, whole: (value: bigint) => string): string {
  const fraction = (magnitude % microPerWon).toString().padStart(6, '0').replace(/0+$/, '');
  return `${whole(magnitude / microPerWon)}${fraction === '' ? '' : `.${fraction}`}`;
}
