import { useTranslation } from 'react-i18next';
import { type ChartProps, totalAt } from './chart-data.ts';
import { coloursOf } from './colour.ts';

interface ChartTooltipProps extends ChartProps {
  readonly index: number;
  readonly xPx: number;
  readonly widthPx: number;
}

const maxRows = 10;
/** `max-w-72`. */
const maxWidthPx = 288;
const gapPx = 12;

/** The exact values of one point, beside the cursor; says that a click leads to the requests. */
export function ChartTooltip(props: ChartTooltipProps) {
  const { series, points, index, xPx, widthPx, values: format, onSelect } = props;
  const { t } = useTranslation();
  const colours = coloursOf(series);
  const present = series
    .map((one, rank) => ({ ...one, colour: colours[rank] ?? '' }))
    .filter(({ values }) => (values[index] ?? null) !== null);
  const total = totalAt(series, index);
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute top-2 z-20 max-w-72 min-w-36 rounded-md bg-raised px-3 py-2 text-xs shadow-raised"
      style={placeOf(xPx, widthPx)}
    >
      <p className="font-medium">{points[index]?.title}</p>
      {present.length === 0 ? <p className="text-muted">{t('chart.noData')}</p> : null}
      <ul>
        {present.slice(0, maxRows).map((one) => (
          <li key={one.key} className="flex items-center gap-1.5">
            {series.length > 1 ? <Swatch colour={one.colour} /> : null}
            <span className="min-w-0 flex-1 truncate text-muted">{one.label}</span>
            <span className="pl-3 whitespace-nowrap">{format.exact(one.values[index] ?? 0)}</span>
          </li>
        ))}
      </ul>
      {format.sum !== null && series.length > 1 && total !== null ? (
        <p className="mt-1 flex justify-between border-t pt-1 font-medium">
          <span>{t('chart.total')}</span>
          <span>{format.exact(total)}</span>
        </p>
      ) : null}
      {onSelect === undefined ? null : <p className="mt-1 text-muted">{t('chart.select')}</p>}
    </div>
  );
}

/** On the wider side of the cursor; at the edge of the chart when that side is too narrow. */
function placeOf(xPx: number, widthPx: number): { left: number } | { right: number } {
  const isLeft = xPx > widthPx / 2;
  const isNarrow = Math.max(xPx, widthPx - xPx) < maxWidthPx + gapPx;
  if (isNarrow) return isLeft ? { left: 0 } : { right: 0 };
  return isLeft ? { right: widthPx - xPx + gapPx } : { left: xPx + gapPx };
}

/** A square in the colour of a series. */
export function Swatch({ colour }: { colour: string }) {
  return <span className="size-2 shrink-0 rounded-[2px]" style={{ background: colour }} />;
}
