import type { ChartSeries } from './chart-data.ts';
import { colourOf } from './colour.ts';

/** A square in the colour of a series. */
export function Swatch({ series }: { series: ChartSeries }) {
  return <span className="size-2 shrink-0 rounded-[2px]" style={{ background: colourOf(series.key) }} />;
}
