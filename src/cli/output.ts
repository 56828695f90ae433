import { escapeControls } from '../log/log.ts';
import { csvHead, csvLines } from '../wire/csv.ts';
import type { CliContext } from './context.ts';

/**
 * Prints rows for people or, with `--json`, one JSON object per line and nothing else
 * (spec:operator/1.1).
 */
export class Output {
  readonly #cli: CliContext;
  readonly #json: boolean;
  readonly #csv: boolean;

  constructor(cli: CliContext, json: boolean, csv = false) {
    this.#cli = cli;
    this.#json = json;
    this.#csv = csv;
  }

  /**
   * One result: `text` for people, `row` for machines. Cells in place of text are lines of a table.
   */
  async one(text: string | readonly (readonly unknown[])[], row: object): Promise<void> {
    if (this.#json) return this.#print([[jsonOf(row)]]);
    await this.#print(
      typeof text === 'string'
        ? text.split('\n').map((line) => [shownLine(line)])
        : text.map((cells) => cells.map(cell)),
    );
  }

  /**
   * Rows under the names of their columns; `--json` prints every member of a row. `none` is printed
   * when there are no rows.
   */
  async rows(
    columns: readonly string[],
    rows: Iterable<object> | AsyncIterable<object>,
    none = 'none',
  ): Promise<void> {
    if (this.#csv) return this.#file(columns, rows);
    const widths: number[] = [];
    let lines = this.#json ? [] : [[...columns]];
    let count = 0;
    this.#cli.progress?.('reading');
    for await (const row of rows) {
      count += 1;
      const members = row as Readonly<Record<string, unknown>>;
      lines.push(this.#json ? [jsonOf(row)] : columns.map((column) => cell(members[column])));
      if (lines.length < alignedTogether) continue;
      await this.#print(lines, widths);
      this.#cli.progress?.(`printed ${count} rows`);
      lines = [];
    }
    if (count === 0) this.#cli.err(`${none}\n`);
    else await this.#print(lines, widths);
  }

  /** Aligned on a terminal, where a hash is short; otherwise separated by tabs. */
  async #print(lines: readonly (readonly string[])[], widths: number[] = []): Promise<void> {
    if (lines.length === 0) return;
    if (!this.#cli.isTerminal) {
      // While a reader such as a pager waits, the terminal is its own.
      this.#cli.progress?.('');
      return this.#cli.out(lines.map((cells) => `${cells.join('\t')}\n`).join(''));
    }
    this.#cli.progress?.(null);
    const shown = lines.map((cells) => cells.map((text) => text.replace(keyHash, '$1')));
    for (const cells of shown)
      for (const [at, text] of cells.slice(0, -1).entries())
        widths[at] = Math.max(widths[at] ?? 0, widthOf(text));
    const padded = (text: string, at: number, { length }: readonly string[]): string =>
      at === length - 1 ? text : text + ' '.repeat((widths[at] ?? 0) - widthOf(text));
    await this.#cli.out(shown.map((cells) => `${cells.map(padded).join('  ').trimEnd()}\n`).join(''));
  }

  /** A CSV file, with its heading also when it has no rows. */
  async #file(columns: readonly string[], rows: Iterable<object> | AsyncIterable<object>): Promise<void> {
    await this.#cli.out(csvHead(columns));
    for await (const row of rows) {
      const members = row as Readonly<Record<string, unknown>>;
      const values = columns.map((column) => members[column]);
      await this.#cli.out(csvLines([values.map((value) => (value == null ? null : cell(value)))]));
    }
  }
}

/** How many lines are read before the width of a column is known; of more, each group has its own. */
const alignedTogether = 100;

/** People read the beginning of a key's hash, and every command takes it. */
const keyHash = /^([0-9a-f]{12})[0-9a-f]{52}$/;

/** The width on a terminal: Hangul, Han and full-width characters take two columns. */
function widthOf(text: string): number {
  return [...text].reduce(
    (sum, char) =>
      sum + (/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]/.test(char) ? 2 : 1),
    0,
  );
}

/** Plain values by column name. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Names and lines come from clients and engines: control characters must not reach the terminal.
 */
function shownLine(line: string): string {
  return line.split('\t').map(escapeControls).join('\t');
}

function jsonOf(row: object): string {
  return escapeControls(JSON.stringify(row));
}

function cell(value: unknown): string {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return '-';
  if (Array.isArray(value)) return value.map(cell).join(', ');
  return escapeControls(typeof value === 'object' ? JSON.stringify(value) : String(value));
}
