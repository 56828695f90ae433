import type { ChartSeries } from './chart-data.ts';

/** The series of everything that has no series of its own. */
export const otherKey = '__other__';

/** As many series have a colour of their own; no chart has more. */
const colourCount = 9;

/**
 * The CSS colours of the series of one chart: by their rank in it, grey for the rest. A class of status
 * has the same colour in every chart; several statuses of one class are lighter one after the other, and
 * requests without a status beside them have a colour that no class has.
 */
export function coloursOf(series: readonly Pick<ChartSeries, 'key' | 'statusClass'>[]): readonly string[] {
  let rank = series.some(({ statusClass }) => statusClass !== undefined) ? 3 : 0;
  const ofClass = new Map<string, number>();
  return series.map(({ key, statusClass }) => {
    if (key === otherKey) return 'var(--chart-other)';
    if (statusClass === undefined) {
      rank += 1;
      return `var(--chart-${((rank - 1) % colourCount) + 1})`;
    }
    const before = ofClass.get(statusClass) ?? 0;
    ofClass.set(statusClass, before + 1);
    const colour = `var(--status-${statusClass})`;
    return before === 0 ? colour : `color-mix(in oklab, ${colour} ${100 * 0.7 ** before}%, var(--bg))`;
  });
}
