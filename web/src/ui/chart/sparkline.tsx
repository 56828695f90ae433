import { linePath, type PlotValue, plotNumber } from './scale.ts';

export interface SparklineProps {
  readonly values: readonly PlotValue[];
  /** What the line shows, for assistive technology: "spend of 30 days". */
  readonly label: string;
  readonly widthPx?: number;
  readonly heightPx?: number;
}

/** A line without axes inside a table row, from zero; gaps where there is no data. */
export function Sparkline({ values, label, widthPx = 88, heightPx = 20 }: SparklineProps) {
  const numbers = values.map(plotNumber);
  const max = Math.max(0, ...numbers.map((number) => number ?? 0));
  const pad = 2;
  const points = numbers.map((number, index) =>
    number === null
      ? null
      : ([
          pad + (index * (widthPx - 2 * pad)) / Math.max(1, numbers.length - 1),
          heightPx - pad - (max === 0 ? 0 : (number / max) * (heightPx - 2 * pad)),
        ] as const),
  );
  return (
    <svg
      role="img"
      aria-label={label}
      width={widthPx}
      height={heightPx}
      className="inline-block align-middle"
    >
      <path
        d={linePath(points)}
        fill="none"
        strokeWidth={1.5}
        strokeLinecap="round"
        strokeLinejoin="round"
        style={{ stroke: max === 0 ? 'var(--text-disabled)' : 'var(--accent)' }}
      />
    </svg>
  );
}
