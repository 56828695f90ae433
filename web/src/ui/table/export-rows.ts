import { exactWon } from '../../format/money.ts';
import { formatTime } from '../../format/time.ts';
import type { Column } from './column.ts';

/** The formats of a table as a file. */
export type ExportFormat = 'csv' | 'json';

/** The rows of a list for a file, some at a time. */
export type RowsInReads<Row> = Iterable<readonly Row[]> | AsyncIterable<readonly Row[]>;

/** A file as its parts, so that a long one is never one text, and how many rows it has. */
export interface ExportedFile {
  readonly parts: readonly string[];
  readonly count: number;
}

/**
 * All rows as a file, every column with a value, shown or not. CSV: UTF-8 with a byte order mark, so that a
 * spreadsheet reads Korean; times in Seoul with `(KST)` in the heading, other units likewise. JSON: ids of
 * columns as names with the unit, ISO times in UTC. Amounts are won with six decimals, texts in JSON
 * (spec:pages, Conventions).
 */
export async function exportRows<Row>(
  columns: readonly Column<Row>[],
  reads: RowsInReads<Row>,
  format: ExportFormat,
): Promise<ExportedFile> {
  const exported = columns.filter(({ value }) => value !== undefined);
  const parts: string[] = format === 'csv' ? [`\uFEFF${exported.map(csvHeading).join(',')}\r\n`] : [];
  let count = 0;
  for await (const rows of reads) {
    count += rows.length;
    if (rows.length > 0)
      parts.push(
        format === 'csv'
          ? rows.map((row) => `${exported.map((column) => csvCell(column, row)).join(',')}\r\n`).join('')
          : `${parts.length === 0 ? '' : ',\n'}${rows.map((row) => jsonRow(exported, row)).join(',\n')}`,
      );
  }
  return { parts: format === 'csv' ? parts : ['[', ...parts, ']\n'], count };
}

const csvUnits = { ms: 'ms', mb: 'MB', percent: '%', krw: 'KRW', kst: 'KST' } as const;

function unitOf<Row>(column: Column<Row>): keyof typeof csvUnits | undefined {
  if (column.kind === 'number') return column.unit;
  return column.kind === 'money' ? 'krw' : column.kind === 'time' ? 'kst' : undefined;
}

function csvHeading<Row>(column: Column<Row>): string {
  const unit = unitOf(column);
  return quote(unit === undefined ? column.header : `${column.header} (${csvUnits[unit]})`);
}

/** `lastUsed` is `last_used`, an amount `used_krw`; an instant is in UTC and has no unit. */
function memberOf<Row>(column: Column<Row>): string {
  const unit = unitOf(column);
  const name = column.id.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return unit === undefined || unit === 'kst' || name.endsWith(`_${unit}`) ? name : `${name}_${unit}`;
}

function csvCell<Row>(column: Column<Row>, row: Row): string {
  if (column.kind === 'time') {
    const at = column.value?.(row) ?? null;
    return at === null ? '' : formatTime(at, 'en', 'second');
  }
  const value = fileValue(column, row);
  return value === null ? '' : typeof value === 'string' ? quote(harmless(value)) : String(value);
}

function jsonRow<Row>(columns: readonly Column<Row>[], row: Row): string {
  return JSON.stringify(
    Object.fromEntries(columns.map((column) => [memberOf(column), fileValue(column, row)])),
  );
}

/** What a file has: no binary fraction of an amount, no number that JSON would round. */
function fileValue<Row>(column: Column<Row>, row: Row): string | number | boolean | null {
  if (column.kind === 'money') {
    const micro = column.value?.(row) ?? null;
    return micro === null ? null : exactWon(micro);
  }
  if (column.kind === 'time') {
    const at = column.value?.(row) ?? null;
    return at === null ? null : new Date(at).toISOString();
  }
  const value = column.value?.(row) ?? null;
  return typeof value === 'bigint' ? String(value) : value;
}

/**
 * A spreadsheet runs a text that starts like a formula; an apostrophe keeps it a text. A decimal number
 * is none.
 */
function harmless(text: string): string {
  return /^[=+\-@\t\r]/.test(text) && !/^-?\d+(?:\.\d+)?$/.test(text) ? `'${text}` : text;
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
