import { lazy, Suspense } from 'react';
import { Skeleton } from '../states.tsx';
import type { ChartProps } from './chart-data.ts';

export type { ChartKind, ChartPoint, ChartProps, ChartSeries, ValueFormat } from './chart-data.ts';
export { otherKey } from './colour.ts';
export { countValues, durationValues, moneyValues, percentValues } from './values.ts';

/** The height of the plot unless stated. */
const defaultHeightPx = 240;

const LazyChart = lazy(() => import('./chart.tsx').then(({ Chart }) => ({ default: Chart })));

/** A chart of bars or lines, loaded when it is first shown; keeps its place meanwhile. */
export function Chart(props: ChartProps) {
  const heightPx = props.heightPx ?? defaultHeightPx;
  return (
    <Suspense
      fallback={
        <div style={{ height: heightPx + 32 }}>
          <Skeleton className="h-full" />
        </div>
      }
    >
      <LazyChart {...props} heightPx={heightPx} />
    </Suspense>
  );
}
