import { parseMicro } from '../../format/money.ts';

const paceDays = 7n;

/** Whole days that the balance lasts at the pace of 7 days; null when nothing was spent. */
export function daysLeftOf(balanceMicro: string, weekMicro: string): bigint | null {
  const balance = parseMicro(balanceMicro);
  const week = parseMicro(weekMicro);
  if (balance <= 0n) return 0n;
  return week <= 0n ? null : (balance * paceDays) / week;
}
