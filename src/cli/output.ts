import type { Shell } from './shell.ts';

/** Prints rows for people or, with `--json`, one JSON object a line and nothing else (decisions.md §4). */
export class Output {
  readonly #shell: Shell;
  readonly #json: boolean;

  constructor(shell: Shell, json: boolean) {
    this.#shell = shell;
    this.#json = json;
  }

  /** One result: `text` for people, `row` for machines. */
  async one(text: string, row: object): Promise<void> {
    await this.#shell.out(this.#json ? `${JSON.stringify(row)}\n` : `${text}\n`);
  }

  /** Rows as they come; for people under their column names, tab-separated. */
  async rows(columns: readonly string[], rows: Iterable<Row> | AsyncIterable<Row>): Promise<void> {
    let headed = this.#json;
    for await (const row of rows) {
      if (!headed) await this.#shell.out(`${columns.join('\t')}\n`);
      headed = true;
      const line = this.#json ? JSON.stringify(row) : columns.map((column) => cell(row[column])).join('\t');
      await this.#shell.out(`${line}\n`);
    }
    if (!headed) this.#shell.err('none\n');
  }

  /** Few rows: for people in columns that stand one below the other, under the names of their members; `rows` for machines. */
  async table(shown: readonly Row[], rows: readonly object[]): Promise<void> {
    if (this.#json) {
      for (const row of rows) await this.#shell.out(`${JSON.stringify(row)}\n`);
      return;
    }
    const [first] = shown;
    if (first === undefined) return this.#shell.err('none\n');
    const columns = Object.keys(first);
    const lines = [columns, ...shown.map((row) => columns.map((column) => cell(row[column])))];
    const widths = columns.map((_, at) => Math.max(...lines.map((line) => (line[at] ?? '').length)));
    for (const line of lines) {
      const padded = line.map((text, at) => text.padEnd(widths[at] ?? 0));
      await this.#shell.out(`${padded.join('  ').trimEnd()}\n`);
    }
  }
}

/** A row: plain values by column name. */
export type Row = Readonly<Record<string, unknown>>;

function cell(value: unknown): string {
  return value === null || value === undefined ? '-' : String(value);
}
