import { compact, groupDigits, type Language } from './money.ts';

/** `1,234,567`. Counts are integers; anything else is truncated. */
export function formatCount(count: number | bigint): string {
  const value = typeof count === 'bigint' ? count : BigInt(Math.trunc(count));
  return value < 0n ? `-${groupDigits(-value)}` : groupDigits(value);
}

/** A count for an axis or a tight place: `12만`, `1.2M`; below 10,000 in full. */
export function formatCountCompact(count: number | bigint, language: Language): string {
  const value = typeof count === 'bigint' ? count : BigInt(Math.trunc(count));
  if (value < 0n) return `-${formatCountCompact(-value, language)}`;
  return value < 10_000n ? groupDigits(value) : compact(value, language);
}

/** `12.3%` from 0.123; below one percent with two decimals, so that a rate of 0.04 % is not "0%". */
export function formatPercent(fraction: number): string {
  const percent = fraction * 100;
  const decimals = percent === 0 || Math.abs(percent) >= 99.95 ? 0 : Math.abs(percent) < 1 ? 2 : 1;
  return `${trimZeros(percent.toFixed(decimals))}%`;
}

/** `42.5` tokens a second: one decimal below 100. */
export function formatRate(perSecond: number): string {
  return perSecond >= 100 ? formatCount(Math.round(perSecond)) : trimZeros(perSecond.toFixed(1));
}

/** `1.5 MB`, in powers of 1,000. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const;
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? formatCount(value) : trimZeros(value.toFixed(value < 10 ? 1 : 0))} ${units[unit]}`;
}

function trimZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}
