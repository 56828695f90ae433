import type { ReactNode } from 'react';

/** A value to sort by and to export. */
export type CellValue = string | number | bigint | boolean | null;

interface ColumnBase<Row> {
  readonly id: string;
  /** The heading, in the language of the page. */
  readonly header: string;
  /** What the cell shows. */
  readonly cell: (row: Row) => ReactNode;
  readonly isSortable?: boolean;
  readonly isHiddenByDefault?: boolean;
  /** The title of the row on a phone; its first column unless stated. */
  readonly isTitle?: boolean;
  /** Beside the title on a phone, at the right: the one figure that counts. */
  readonly isMainFigure?: boolean;
  /** Not shown on a phone. */
  readonly isWideOnly?: boolean;
  /** An amount whose cell is more than a figure: it begins at the left. */
  readonly isMeter?: boolean;
}

/**
 * A column of a table, of its order and of its files. `value` is what it orders and exports; without
 * it the column does neither. Only a column of money has micro-won, so that no file has bare ones.
 */
export type Column<Row> = ColumnBase<Row> &
  (
    | { readonly kind: 'money'; readonly value?: (row: Row) => bigint | null }
    /** Epoch milliseconds. */
    | { readonly kind: 'time'; readonly value?: (row: Row) => number | null }
    | {
        readonly kind: 'number';
        readonly value?: (row: Row) => number | bigint | null;
        /** What a file states beside the heading and in the name of the member. */
        readonly unit?: 'ms' | 'mb' | 'percent';
      }
    | {
        /** Words, in one line that ends in an ellipsis; a `state` and `actions` are always whole. */
        readonly kind?: 'text' | 'state' | 'actions';
        readonly value?: (row: Row) => string | number | boolean | null;
      }
  );

/** Which column orders the rows, and whether from large to small. */
export interface Sort {
  readonly columnId: string;
  readonly isDescending: boolean;
}

/** The order of two values, small first; null is the smallest. */
export function compareValues(a: CellValue, b: CellValue): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  if (typeof a === 'string' && typeof b === 'string') return a.localeCompare(b, 'ko', { numeric: true });
  return a < b ? -1 : 1;
}

/** Figures are right-aligned, so that their digits stand below each other. */
export function isFigure({ kind, isMeter }: Pick<Column<never>, 'kind' | 'isMeter'>): boolean {
  return (kind === 'number' || kind === 'money') && isMeter !== true;
}

/** Money, states and actions stay in sight where the table is wider than the window. */
export function isPinned({ kind, isMeter }: Pick<Column<never>, 'kind' | 'isMeter'>): boolean {
  return kind === 'state' || kind === 'actions' || (kind === 'money' && isMeter !== true);
}
