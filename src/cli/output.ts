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

  /** One result: `text` for people, `row` for machines. */
  async one(text: string, row: object): Promise<void> {
    await this.#cli.out(`${this.#json ? jsonOf(row) : text.split('\n').map(shownLine).join('\n')}\n`);
  }

  /**
   * A short list, for people in aligned columns; `none` is printed when there are no rows. `--json`
   * prints `whole`, which may have more members than the columns.
   */
  async table(
    columns: readonly string[],
    rows: readonly Row[],
    none = 'none',
    whole: readonly object[] = rows,
  ): Promise<void> {
    if (this.#csv) return this.#file(columns, rows);
    if (this.#json || rows.length === 0) {
      for (const row of whole) await this.#cli.out(`${jsonOf(row)}\n`);
      if (rows.length === 0) this.#cli.err(`${none}\n`);
      return;
    }
    const lines = [columns, ...rows.map((row) => columns.map((column) => cell(row[column])))];
    const widths = columns.map((_, index) => Math.max(...lines.map((line) => widthOf(line[index] ?? ''))));
    for (const line of lines) {
      const padded = line.map((text, index) => text + ' '.repeat((widths[index] ?? 0) - widthOf(text)));
      await this.#cli.out(`${padded.join('  ').trimEnd()}\n`);
    }
  }

  /** A stream of rows; for people, tab-separated under their column names. */
  async rows(columns: readonly string[], rows: Iterable<Row> | AsyncIterable<Row>): Promise<void> {
    if (this.#csv) return this.#file(columns, rows);
    let headed = this.#json;
    for await (const row of rows) {
      if (!headed) await this.#cli.out(`${columns.join('\t')}\n`);
      headed = true;
      const line = this.#json ? jsonOf(row) : columns.map((column) => cell(row[column])).join('\t');
      await this.#cli.out(`${line}\n`);
    }
    if (!headed) this.#cli.err('none\n');
  }

  /** A CSV file, with its heading also when it has no rows. */
  async #file(columns: readonly string[], rows: Iterable<Row> | AsyncIterable<Row>): Promise<void> {
    await this.#cli.out(csvHead(columns));
    for await (const row of rows)
      await this.#cli.out(
        csvLines([columns.map((column) => (row[column] == null ? null : cell(row[column])))]),
      );
  }
}

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
  return value === null || value === undefined ? '-' : escapeControls(String(value));
}
