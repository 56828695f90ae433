import { type PlotValue, plotNumber } from './scale.ts';

/** One moment or category of the x axis. */
export interface ChartPoint {
  /** Unique in the chart; an instant in epoch milliseconds or a name. */
  readonly key: string | number;
  /** The label of the axis: short. */
  readonly label: string;
  /** The heading of the tooltip and of the table view: full. */
  readonly title: string;
  /** Something happened here that the title names: a line marks it. */
  readonly isMarked?: boolean;
}

/** One series: a value for each point, null where there is no data. */
export interface ChartSeries {
  /** Unique in the chart; `otherKey` for the rest. */
  readonly key: string;
  /** The series is of requests with one status: its colour has a fixed meaning. */
  readonly statusClass?: '2xx' | '4xx' | '5xx' | 'cancelled' | undefined;
  readonly label: string;
  readonly values: readonly PlotValue[];
}

/** Bars of several series stand on each other. */
export type ChartKind = 'bars' | 'lines';

export interface ChartProps {
  readonly kind: ChartKind;
  /** What the chart shows: its heading. */
  readonly title: string;
  /** The heading of the first column of the table view: "Day". */
  readonly pointHeader: string;
  readonly points: readonly ChartPoint[];
  readonly series: readonly ChartSeries[];
  /** How values are written: `moneyValues`, `countValues` or `durationValues` of `values.ts`. */
  readonly values: ValueFormat;
  /** Leads to the rows behind a point. */
  readonly onSelect?: (point: ChartPoint, index: number) => void;
  readonly heightPx?: number;
}

/** How the values of a chart are written. */
export interface ValueFormat {
  /** An exact value, for tooltips and tables. */
  readonly exact: (value: bigint | number) => string;
  /** A value on the axis, which ends at `max`: plotted numbers. */
  readonly axis: (value: number, max: number) => string;
  /** Whether there is nothing between two whole values: half a request. */
  readonly isWhole?: boolean;
  /** The sum of a series beside its name; null where values do not add up, as percentiles. */
  readonly sum: ((value: bigint | number) => string) | null;
}

/** The largest plotted number: of one value, or of the sum of a bar. */
export function maxOf(kind: ChartKind, series: readonly ChartSeries[], count: number): number {
  if (kind === 'bars')
    return Math.max(
      0,
      ...Array.from({ length: count }, (_, index) =>
        series.reduce((sum, { values }) => sum + (plotNumber(values[index] ?? null) ?? 0), 0),
      ),
    );
  return Math.max(0, ...series.flatMap(({ values }) => values.map((value) => plotNumber(value) ?? 0)));
}

/** The exact sum of the values at a point; null when no series has one. */
export function totalAt(series: readonly ChartSeries[], index: number): bigint | number | null {
  let total: bigint | number | null = null;
  for (const { values } of series) total = plus(total, values[index] ?? null);
  return total;
}

/** The exact sum of a series; null when it has no value. */
export function totalOf(series: ChartSeries): bigint | number | null {
  return series.values.reduce<bigint | number | null>(plus, null);
}

/** The exact sum of two values; a missing one adds nothing. */
export function plus(total: bigint | number | null, value: PlotValue): bigint | number | null {
  if (value === null) return total;
  if (total === null) return value;
  return typeof total === 'bigint' && typeof value === 'bigint'
    ? total + value
    : Number(total) + Number(value);
}
