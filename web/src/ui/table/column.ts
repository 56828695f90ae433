import type { ReactNode } from 'react';

/** What a column holds; decides alignment and how it is exported. */
export type ColumnKind = 'text' | 'number' | 'money' | 'time' | 'actions';

/** A value to sort by and to export. Money is micro-won as `bigint`, time is epoch milliseconds. */
export type CellValue = string | number | bigint | boolean | null;

export interface Column<Row> {
  readonly id: string;
  /** The heading, in the language of the page. */
  readonly header: string;
  readonly kind?: ColumnKind;
  /** What the cell shows. */
  readonly cell: (row: Row) => ReactNode;
  /** The value to sort by and to export. Without it the column does neither. */
  readonly value?: (row: Row) => CellValue;
  readonly isSortable?: boolean;
  readonly isHiddenByDefault?: boolean;
  /** The title of the row on a phone; its first column unless stated. */
  readonly isTitle?: boolean;
  /** Beside the title on a phone, at the right: the one figure that counts. */
  readonly isMainFigure?: boolean;
  /** Not shown on a phone. */
  readonly isWideOnly?: boolean;
}

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
export function isFigure(kind: ColumnKind | undefined): boolean {
  return kind === 'number' || kind === 'money';
}
