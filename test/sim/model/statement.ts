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
