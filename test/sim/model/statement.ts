import type { Transaction } from './transactions.ts';

/**
 * A statement that the model implements, by its whole text: a changed one is unknown until the
 * model has it.
 */
export interface Statement {
  readonly text: string;
  /** The rows that it locks before it does anything, in order. */
  readonly locks?: (tx: Transaction, values: readonly unknown[]) => readonly string[];
  readonly run: (tx: Transaction, values: readonly unknown[]) => readonly object[];
}

/** The text as it is compared: any white space is one space. */
export function normalized(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Writes a UUID as the server does. */
export function dashed(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** What a statement selects: columns, or expressions on them, under the names of the code. */
export class Selection {
  readonly text: string;
  readonly #columns: Readonly<Record<string, string>>;

  constructor(columns: Readonly<Record<string, string>>) {
    this.text = Object.entries(columns)
      .map(([name, sql]) => `${sql} AS "${name}"`)
      .join(', ');
    this.#columns = columns;
  }

  /** A row under these names; `computed` are those that are not the column's value as the model keeps it. */
  of(row: object, computed: Readonly<Record<string, unknown>> = {}): object {
    const values = row as Readonly<Record<string, unknown>>;
    return Object.fromEntries(
      Object.entries(this.#columns).map(([name, sql]) => [
        name,
        name in computed ? computed[name] : values[sql.replace(/^\w\./, '')],
      ]),
    );
  }
}
