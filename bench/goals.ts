import type { Measure, Sample } from './measure.ts';
import { median } from './median.ts';
import type { TargetName } from './target.ts';

type Column = 'perSecond' | 'cpuUs' | 'p50Ms' | 'p99Ms';
type Found = (target: TargetName, measure: Measure['name'], figure: Column) => number;

/** What a figure should be. */
export interface Wanted {
  readonly title: string;
  readonly unit: '×' | 'µs' | 'ms' | 'kB' | 'MB';
  readonly atLeast?: number;
  readonly atMost?: number;
}

interface Goal extends Wanted {
  /** NaN when a target that it needs was not measured. */
  readonly found: (of: Found) => number;
}

const over = (target: TargetName, measure: Measure['name'], figure: Column) => (of: Found) =>
  of('naru', measure, figure) / of(target, measure, figure);
const added = (target: TargetName, of: Found, figure: Column) =>
  of(target, 'fast', figure) - of('direct', 'fast', figure);

/** What the comparison should show, as ratios to what was measured in the same run. */
const goals: readonly Goal[] = [
  { title: 'requests/s, of nginx', found: over('nginx', 'whole', 'perSecond'), unit: '×', atLeast: 0.2 },
  { title: 'requests/s, of Portkey', found: over('portkey', 'whole', 'perSecond'), unit: '×', atLeast: 6 },
  { title: 'CPU of a request, of the floor', found: over('floor', 'whole', 'cpuUs'), unit: '×', atMost: 3 },
  {
    title: 'CPU of a chunk, batched, of the floor',
    found: over('floor', 'batched', 'cpuUs'),
    unit: '×',
    atMost: 2,
  },
  { title: 'added p50, 1,000/s', found: (of) => added('naru', of, 'p50Ms'), unit: 'ms', atMost: 0.6 },
  {
    title: 'added p99, 1,000/s, of the floor',
    found: (of) => added('naru', of, 'p99Ms') / added('floor', of, 'p99Ms'),
    unit: '×',
    atMost: 2,
  },
];

/** Each figure beside its goal, as a Markdown table; medians over the rounds. */
export function goalTable(samples: readonly Sample[]): string {
  const of: Found = (target, measure, figure) => {
    const values = samples
      .filter((one) => one.target === target && one.measure === measure)
      .flatMap((one) => one[figure] ?? []);
    return values.length === 0 ? Number.NaN : median(values);
  };
  return tableOfGoals(goals.map((goal) => ({ wanted: goal, value: goal.found(of) })));
}

/** A figure beside what it should be; NaN when it was not measured. */
export interface Figure {
  readonly wanted: Wanted;
  readonly value: number;
}

/** Figures beside what they should be. */
export function tableOfGoals(figures: readonly Figure[]): string {
  const rows = figures.map(({ wanted: { title, unit, atLeast, atMost }, value }) => {
    const isMet = atLeast === undefined ? value <= (atMost ?? 0) : value >= atLeast;
    const goal = atLeast === undefined ? `≤ ${atMost} ${unit}` : `≥ ${atLeast} ${unit}`;
    const verdict = isMet ? 'met' : 'missed';
    return !Number.isFinite(value)
      ? `| ${title} | — | ${goal} | not measured |`
      : `| ${title} | ${Number(value.toPrecision(3))} ${unit} | ${goal} | ${verdict} |`;
  });
  return ['| Naru | Found | Goal | |', '| --- | ---: | ---: | --- |', ...rows].join('\n');
}
