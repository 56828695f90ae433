import { keptInMemory } from '../src/app/accounting.ts';

/** What was measured of one database and one request, in bytes and per second. */
export interface ScaleFigures {
  readonly rowBytes: number;
  readonly indexBytes: number;
  readonly ledgerBytes: number;
  readonly ledgerIndexBytes: number;
  readonly journalBytes: number;
  readonly settlementsPerSecond: number;
  readonly accountBytes: number;
  readonly keyBytes: number;
}

/** A day's peak is this many times its mean. */
const peakOverMean = 4;
/** A database is planned for this part of what it was measured to do. */
const planned = 0.5;

/**
 * The cells of a row of the table in docs/scale.md: so many generations a day from so many active
 * accounts, two keys each.
 */
export function scaleRow(figures: ScaleFigures, perDay: number, accounts: number): readonly string[] {
  const { rowBytes, indexBytes, ledgerBytes, ledgerIndexBytes, journalBytes } = figures;
  const peak = (perDay / 86_400) * peakOverMean;
  const month = perDay * 30;
  return [
    perDay.toLocaleString('en'),
    accounts.toLocaleString('en'),
    Math.ceil(peak).toLocaleString('en'),
    `${gigabytes(month * (rowBytes + indexBytes))} GB`,
    `${gigabytes(month * (ledgerBytes + ledgerIndexBytes))} GB`,
    `${((peak * journalBytes) / 1e6).toFixed(1)} MB/s`,
    `${gigabytes(known(accounts) * figures.accountBytes + known(2 * accounts) * figures.keyBytes)} GB`,
    String(Math.max(1, Math.ceil(peak / (figures.settlementsPerSecond * planned)))),
  ];
}

/** How many of so many accounts or keys a process keeps in memory. */
function known(count: number): number {
  return Math.min(count, keptInMemory);
}

function gigabytes(bytes: number): string {
  const value = bytes / 1e9;
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en');
}
