import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type ChartProps, type ChartSeries, totalOf, type ValueFormat } from './chart-data.ts';
import { ChartTable } from './chart-table.tsx';
import { ChartTooltip, Swatch } from './chart-tooltip.tsx';
import { coloursOf } from './colour.ts';
import { type Layout, layoutOf } from './layout.ts';
import { Plot } from './plot.tsx';
import { TableToggle } from './table-toggle.tsx';
import { useWidth } from './use-width.ts';

/**
 * A chart with a legend, a cursor for pointer and keyboard, exact values in its tooltip, and a table of
 * the same numbers. Drawn as SVG here (docs/decisions/dependencies.md).
 */
export function Chart(props: ChartProps & { readonly heightPx: number }) {
  const [isTable, setIsTable] = useState(false);
  const [ref, widthPx] = useWidth<HTMLElement>();
  const layout = useMemo(() => layoutOf(props, widthPx), [props, widthPx]);
  return (
    <figure ref={ref} className="flex min-w-0 flex-col gap-1">
      <figcaption className="flex items-center gap-2">
        <span className="min-w-0 flex-1 text-sm font-medium">{props.title}</span>
        <TableToggle isTable={isTable} onChange={setIsTable} />
      </figcaption>
      {isTable || layout.hasEndLabels ? null : <Legend {...props} />}
      {isTable ? <ChartTable {...props} /> : <ChartArea {...props} layout={layout} />}
    </figure>
  );
}

function ChartArea(props: ChartProps & { readonly heightPx: number; readonly layout: Layout }) {
  const { points, series, title, onSelect, layout } = props;
  const { widthPx } = layout;
  const { t } = useTranslation();
  const [active, setActive] = useState<number | null>(null);
  const last = points.length - 1;
  const move = (index: number): void => setActive(Math.max(0, Math.min(last, index)));
  const describe = (index: number): string => {
    const point = points[index];
    const values = series.map(({ label: name, values: all }) => {
      const value = all[index] ?? null;
      return `${name} ${value === null ? t('none') : props.values.exact(value)}`;
    });
    return point === undefined ? '' : `${point.title}: ${values.join(', ')}`;
  };
  return (
    <div className="relative" style={{ height: props.heightPx }}>
      {widthPx === 0 ? null : <Plot {...props} active={active} />}
      <div
        role="slider"
        tabIndex={0}
        aria-label={title}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, last)}
        aria-valuenow={active ?? last}
        aria-valuetext={describe(active ?? last)}
        className={`absolute inset-0 rounded-sm ${onSelect === undefined ? '' : 'cursor-pointer'}`}
        onFocus={(event) => {
          if (event.currentTarget.matches(':focus-visible')) move(active ?? last);
        }}
        onBlur={() => setActive(null)}
        onPointerMove={(event) => {
          const { left } = event.currentTarget.getBoundingClientRect();
          move(layout.indexAt(event.clientX - left));
        }}
        onPointerLeave={() => setActive(null)}
        onClick={() => select(active)}
        onKeyDown={(event) => {
          const now = active ?? last;
          const target = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }[event.key];
          if (target !== undefined) move(target);
          else if (event.key === 'Enter') select(active);
          else if (event.key === 'Escape') setActive(null);
          else return;
          event.preventDefault();
        }}
      />
      {active === null || widthPx === 0 ? null : (
        <ChartTooltip {...props} index={active} xPx={layout.xOf(active)} widthPx={widthPx} />
      )}
    </div>
  );

  function select(index: number | null): void {
    const point = index === null ? undefined : points[index];
    if (point !== undefined && index !== null) onSelect?.(point, index);
  }
}

/** Names and sums of the series. A single series needs none: its heading says what it is. */
function Legend({ series, values }: ChartProps) {
  if (series.length < 2) return null;
  const colours = coloursOf(series);
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-0.5 text-xs">
      {series.map((one, rank) => (
        <li key={one.key} className="flex min-w-0 items-center gap-1.5">
          <Swatch colour={colours[rank] ?? ''} />
          <span dir="auto" className="max-w-72 truncate" title={one.label}>
            {one.label}
          </span>
          <span className="text-muted">{sumText(one, values)}</span>
        </li>
      ))}
    </ul>
  );
}

function sumText(series: ChartSeries, { sum }: ValueFormat): string {
  const total = sum === null ? null : totalOf(series);
  return total === null || sum === null ? '' : sum(total);
}
