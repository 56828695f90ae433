import { type PlotValue, plotNumber } from './scale.ts';

/** One moment or category of the x axis. */
export interface ChartPoint {
  /** Unique in the chart; an instant in epoch milliseconds or a name. */
  readonly key: string | number;
  /** The label of the axis: short. */
  readonly label: string;
  /** The heading of the tooltip and of the table view: full. */
  readonly title: string;
}

/** One series: a value for each point, null where there is no data. */
export interface ChartSeries {
  /** What the colour belongs to: the id of a model; `otherKey` for the rest. */
  readonly key: string;
  readonly label: string;
  readonly values: readonly PlotValue[];
}

export type ChartKind = 'bars' | 'lines' | 'stacked';

export interface ChartProps {
  readonly kind: ChartKind;
  /** What the chart shows, for assistive technology and as a file name of the table view. */
  readonly label: string;
  /** The heading of the first column of the table view: "Day". */
  readonly pointHeader: string;
  readonly points: readonly ChartPoint[];
  readonly series: readonly ChartSeries[];
  /** An exact value, for tooltips and tables. */
  readonly formatValue: (value: bigint | number) => string;
  /** A short value for the axis, from a plotted number. */
  readonly formatAxis: (value: number) => string;
  /** Leads to the rows behind a point. */
  readonly onSelect?: (point: ChartPoint, index: number) => void;
  readonly heightPx?: number;
  /** Shows a sum of the series in the tooltip; for amounts and counts, not for percentiles. */
  readonly hasTotal?: boolean;
}

/** The largest plotted number: of one value, or of a stack. */
export function maxOf(kind: ChartKind, series: readonly ChartSeries[], count: number): number {
  if (kind === 'stacked')
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
  for (const { values } of series) total = add(total, values[index] ?? null);
  return total;
}

/** The exact sum of a series; null when it has no value. */
export function totalOf(series: ChartSeries): bigint | number | null {
  return series.values.reduce<bigint | number | null>(add, null);
}

function add(total: bigint | number | null, value: PlotValue): bigint | number | null {
  if (value === null) return total;
  if (total === null) return value;
  return typeof total === 'bigint' && typeof value === 'bigint'
    ? total + value
    : Number(total) + Number(value);
}
