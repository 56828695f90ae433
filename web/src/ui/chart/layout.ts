import { type ChartProps, maxOf } from './chart-data.ts';
import { labelIndexes, ticksUpTo } from './scale.ts';

/** Where everything of a chart stands, in pixels of its SVG. */
export interface Layout {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  /** The width of a bar, or of one group of bars. */
  readonly barPx: number;
  readonly ticks: readonly number[];
  readonly labels: readonly number[];
  /** Names at the ends of the lines instead of the legend's order alone. */
  readonly hasEndLabels: boolean;
  readonly xOf: (index: number) => number;
  readonly yOf: (value: number) => number;
  readonly indexAt: (xPx: number) => number;
}

const charPx = 7;
const topPx = 8;
const axisPx = 24;
const endLabelPx = 124;
const maxEndLabels = 6;
const minWidthForEndLabelsPx = 520;

/** Lays a chart out in the width that it has. */
export function layoutOf(props: ChartProps & { readonly heightPx: number }, widthPx: number): Layout {
  const { kind, series, points, heightPx } = props;
  const count = Math.max(1, points.length);
  const ticks = ticksUpTo(maxOf(kind, series, points.length), props.values.isWhole);
  const maxTick = ticks.at(-1) ?? 1;
  const top = topPx;
  const bottom = heightPx - axisPx;
  const hasEndLabels =
    kind === 'lines' &&
    series.length > 1 &&
    series.length <= maxEndLabels &&
    widthPx >= minWidthForEndLabelsPx;
  const left = Math.max(24, ...ticks.map((tick) => props.values.axis(tick, maxTick).length * charPx + 10));
  const right = widthPx - (hasEndLabels ? endLabelPx : kind === 'lines' ? 8 : 0);
  const slot = (right - left) / count;
  const longest = Math.max(1, ...points.map(({ label }) => label.length));
  const isLine = kind === 'lines';
  const xOf = (index: number): number =>
    isLine
      ? count === 1
        ? (left + right) / 2
        : left + (index * (right - left)) / (count - 1)
      : left + (index + 0.5) * slot;
  const indexAt = (xPx: number): number =>
    isLine
      ? Math.round(((xPx - left) / Math.max(1, right - left)) * (count - 1))
      : Math.floor((xPx - left) / slot);
  return {
    widthPx,
    heightPx,
    left,
    right,
    top,
    bottom,
    barPx: Math.max(1, Math.min(40, slot * 0.72)),
    ticks,
    labels: labelIndexes(points.length, right - left, longest * charPx + 20),
    hasEndLabels,
    xOf,
    yOf: (value) => bottom - (value / maxTick) * (bottom - top),
    indexAt,
  };
}
