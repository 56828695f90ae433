import { decimalWon } from '../../format/money.ts';
import { formatTime } from '../../format/time.ts';
import type { CellValue, Column } from './column.ts';

/** The formats of a table as a file. */
export type ExportFormat = 'csv' | 'json';

/** The rows of a list for a file; the first ones where there are too many for one. */
export interface AllRows<Row> {
  readonly rows: readonly Row[];
  readonly isComplete: boolean;
}

/**
 * All rows as a CSV file: UTF-8 with a byte order mark, so that a spreadsheet reads Korean; amounts in
 * won, times in Seoul with `(KST)` in the heading.
 */
export function toCsv<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const exported = columns.filter(({ value }) => value !== undefined);
  const heading = exported.map(({ header, kind }) => quote(kind === 'time' ? `${header} (KST)` : header));
  const lines = rows.map((row) => exported.map((column) => csvCell(column, row)).join(','));
  return `\uFEFF${[heading.join(','), ...lines].join('\r\n')}\r\n`;
}

/** All rows as JSON: ids of columns as names, amounts as decimal strings of micro-won, ISO times in UTC. */
export function toJson<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const exported = columns.filter(({ value }) => value !== undefined);
  return JSON.stringify(
    rows.map((row) => Object.fromEntries(exported.map((column) => [column.id, jsonValue(column, row)]))),
    null,
    2,
  );
}

function csvCell<Row>(column: Column<Row>, row: Row): string {
  const value = column.value?.(row) ?? null;
  if (value === null) return '';
  if (column.kind === 'money') return decimalWon(value as bigint);
  if (column.kind === 'time') return formatTime(value as number, 'en', 'second');
  return typeof value === 'string' ? quote(harmless(value)) : String(value);
}

/** A spreadsheet runs a text that starts like a formula; an apostrophe keeps it a text. */
function harmless(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function jsonValue<Row>(column: Column<Row>, row: Row): CellValue {
  const value = column.value?.(row) ?? null;
  if (typeof value === 'bigint') return String(value);
  if (column.kind === 'time' && typeof value === 'number') return new Date(value).toISOString();
  return value;
}
