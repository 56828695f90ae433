import { seoulDay, startOfDay } from '../format/time.ts';
import type { Format } from '../i18n/use-format.ts';
import type { ChartPoint, ChartSeries } from '../ui/chart/chart-data.ts';
import { otherKey } from '../ui/chart/colour.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** A step of a chart. */
export type Step = 'hour' | 'day' | 'week' | 'month';

/** One value of one series at one step, as the API sends it. */
export interface SeriesPoint {
  readonly start: string;
  readonly value: string | null;
  readonly label: string | null;
}

/** What a status means in the colours of a chart. */
export function statusClassOf(status: string): ChartSeries['statusClass'] {
  if (status === '499') return 'cancelled';
  if (/^[23]/.test(status)) return '2xx';
  return /^[45]\d\d$/.test(status) ? (status.startsWith('4') ? '4xx' : '5xx') : undefined;
}

/** The steps of a span up to now, with or without data: a gap in the data is a gap in the chart. */
export function stepsOf(fromMs: number, toMs: number, step: Step, nowMs: number): readonly number[] {
  const starts: number[] = [];
  for (let at = startOfStep(fromMs, step); at < Math.min(toMs, nowMs); at = endOfStep(at, step))
    starts.push(at);
  return starts;
}

/** The points of the axis; hours of several days have their day. */
export function axisOf(starts: readonly number[], step: Step, format: Format): readonly ChartPoint[] {
  const areDaysNamed = seoulDay(starts[0] ?? 0) !== seoulDay(starts.at(-1) ?? 0);
  return starts.map((atMs) => {
    if (step === 'month') return { key: atMs, label: format.month(atMs), title: format.month(atMs) };
    const day = format.dayShort(atMs);
    if (step !== 'hour') return { key: atMs, label: day, title: format.time(atMs, 'day') };
    const hour = format.time(atMs, 'hour');
    return { key: atMs, label: areDaysNamed ? `${day} ${hour}` : hour, title: format.time(atMs, 'minute') };
  });
}

/** The series of the points by their value, the largest first and the rest last. */
export function seriesOf<Point extends SeriesPoint>(
  points: readonly Point[],
  starts: readonly number[],
  options: {
    readonly sumValue: (point: Point) => bigint | number | null;
    /** The name of a value: null is the rest, empty is none. */
    readonly nameOf: (value: string | null, label: string | null) => string;
    /** What stands at a step without data: 0 for sums, null for percentiles and rates. */
    readonly missing: bigint | number | null;
    /** The values are statuses. */
    readonly isByStatus?: boolean;
  },
): readonly ChartSeries[] {
  const groups = Map.groupBy(points, ({ value }) => value);
  const order = new Map(starts.map((start, index) => [start, index]));
  const series = [...groups].map(([value, group]) => {
    const values: (bigint | number | null)[] = starts.map(() => options.missing);
    for (const point of group) {
      const index = order.get(Date.parse(point.start));
      if (index !== undefined) values[index] = options.sumValue(point);
    }
    return {
      key: value ?? otherKey,
      label: options.nameOf(value, group[0]?.label ?? null),
      values,
      statusClass: options.isByStatus === true ? statusClassOf(value ?? '') : undefined,
      total: values.reduce<number>((sum, one) => sum + Number(one ?? 0), 0),
    };
  });
  return series.toSorted(
    (a, b) => Number(a.key === otherKey) - Number(b.key === otherKey) || b.total - a.total,
  );
}

function startOfStep(atMs: number, step: Step): number {
  if (step === 'hour') return Math.floor(atMs / hourMs) * hourMs;
  const day = startOfDay(seoulDay(atMs)) ?? atMs;
  if (step === 'day') return day;
  // Day 0 of the epoch was a Thursday; weeks begin on Monday.
  if (step === 'week') return day - ((((Math.floor((day + 9 * hourMs) / dayMs) + 3) % 7) + 7) % 7) * dayMs;
  return startOfDay(`${seoulDay(atMs).slice(0, 7)}-01`) ?? day;
}

/** Where the step that starts at an instant ends. */
export function endOfStep(atMs: number, step: Step): number {
  if (step === 'hour') return atMs + hourMs;
  if (step === 'day') return atMs + dayMs;
  if (step === 'week') return atMs + 7 * dayMs;
  return startOfStep(atMs + 32 * dayMs, 'month');
}
