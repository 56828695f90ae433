/** A cell: a number is written as it is, text is quoted where it must be. */
export type Cell = string | number | null;

/** The beginning of a CSV file for a spreadsheet: UTF-8 with a byte order mark. */
export function csvHead(header: readonly string[]): string {
  return `\ufeff${csvLines([header])}`;
}

/** Lines of a CSV file, each with CRLF. */
export function csvLines(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(',')}\r\n`).join('');
}

/** A spreadsheet runs text that begins like a formula; a decimal number is none. */
function cellText(cell: Cell): string {
  if (cell === null) return '';
  const text = String(cell);
  const isNumber = /^-?\d+(?:\.\d+)?$/.test(text);
  const harmless = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
