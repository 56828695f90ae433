import { PageReply } from './page-reply.ts';

/** A cell: a number is written as it is, text is quoted where it must be. */
export type Cell = string | number | null;

/** The most rows of a file. */
export const maxCsvRows = 100_000;

/** A CSV file for a spreadsheet: UTF-8 with a byte order mark, CRLF; `name` has no quotes. */
export function csvReply(
  name: string,
  header: readonly string[],
  rows: readonly (readonly Cell[])[],
): PageReply {
  const lines = [header, ...rows].map((row) => row.map(cellText).join(','));
  return new PageReply({
    body: Buffer.from(`\ufeff${lines.join('\r\n')}\r\n`),
    contentType: 'text/csv; charset=utf-8',
    headers: { 'Content-Disposition': `attachment; filename="${name}"` },
  });
}

/** A spreadsheet runs text that begins like a formula; a decimal number is none. */
function cellText(cell: Cell): string {
  if (cell === null) return '';
  const text = String(cell);
  const isNumber = /^-?\d+(?:\.\d+)?$/.test(text);
  const harmless = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
