import { type ReactElement, useMemo, useState } from 'react';
import type { Column } from '../table/column.ts';
import { DataTable } from '../table/data-table.tsx';
import { Tooltip } from '../tooltip.tsx';
import { colourOf } from './colour.ts';
import { placeLabels } from './place-labels.ts';
import { labelIndexes, ticksUpTo } from './scale.ts';
import { TableToggle } from './table-toggle.tsx';
import { useWidth } from './use-width.ts';
import { YAxis } from './y-axis.tsx';

/** One thing with two values. */
export interface ScatterPoint {
  /** What its colour belongs to, such as the id of a model. */
  readonly key: string;
  readonly label: string;
  readonly x: number;
  /** Micro-won or a count: plotted as a number, written exactly. */
  readonly y: bigint;
}

/** One axis: what it is, and how its values are written. */
export interface ScatterAxis<Value> {
  readonly label: string;
  readonly exact: (value: Value) => string;
  /** A value on the axis, which ends at `max`. */
  readonly tick: (value: number, max: number) => string;
}

export interface ScatterProps {
  /** What it shows, for assistive technology: the heading stands above it. */
  readonly title: string;
  /** The heading of the first column of the table view. */
  readonly pointHeader: string;
  readonly points: readonly ScatterPoint[];
  readonly x: ScatterAxis<number>;
  readonly y: ScatterAxis<bigint>;
  /** The link to a thing, around its mark. */
  readonly linkOf: (point: ScatterPoint, mark: Mark) => ReactElement;
  readonly heightPx?: number;
}

/** What a link around a mark has. */
export interface Mark {
  readonly className: string;
  readonly style: { readonly left: number; readonly top: number };
  readonly 'aria-label': string;
  readonly children: ReactElement;
}

const topPx = 12;
const axisPx = 44;
const rightPx = 16;
const charPx = 7;
const markPx = 24;

/** Things by two values, each a link with its name; exact values in tooltips and in a table. */
export function Scatter(props: ScatterProps) {
  const [isTable, setIsTable] = useState(false);
  const [ref, widthPx] = useWidth<HTMLElement>();
  return (
    <figure ref={ref} aria-label={props.title} className="flex min-w-0 flex-col gap-1">
      <figcaption className="flex items-center gap-2">
        <span className="min-w-0 flex-1 text-xs text-muted">{isTable ? null : `↑ ${props.y.label}`}</span>
        <TableToggle isTable={isTable} onChange={setIsTable} />
      </figcaption>
      {isTable ? <ScatterTable {...props} /> : <Plot {...props} widthPx={widthPx} />}
    </figure>
  );
}

function Plot(props: ScatterProps & { readonly widthPx: number }) {
  const { points, x, y, linkOf, widthPx, heightPx = 280 } = props;
  if (widthPx === 0) return <div style={{ height: heightPx }} />;
  const xTicks = ticksUpTo(Math.max(0, ...points.map((point) => point.x)));
  const yTicks = ticksUpTo(Math.max(0, ...points.map((point) => Number(point.y))));
  const [maxX, maxY] = [xTicks.at(-1) ?? 1, yTicks.at(-1) ?? 1];
  const left = Math.max(24, ...yTicks.map((tick) => y.tick(tick, maxY).length * charPx + 12));
  const [right, bottom] = [widthPx - rightPx, heightPx - axisPx];
  const xOf = (value: number): number => left + (value / maxX) * (right - left);
  const yOf = (value: number): number => bottom - (value / maxY) * (bottom - topPx);
  const shownX = labelIndexes(xTicks.length, right - left, 48);
  const placed = points.map((point) => ({
    x: xOf(point.x),
    y: yOf(Number(point.y)),
    widthPx: point.label.length * charPx,
  }));
  const sides = placeLabels(placed, { left, right });
  return (
    <div className="relative" style={{ height: heightPx }}>
      <svg aria-hidden="true" width={widthPx} height={heightPx} className="chart block overflow-visible">
        <YAxis ticks={yTicks} left={left} right={right} yOf={yOf} text={y.tick} />
        {shownX.map((index) => (
          <text key={index} x={xOf(xTicks[index] ?? 0)} y={bottom + 18} textAnchor="middle">
            {x.tick(xTicks[index] ?? 0, maxX)}
          </text>
        ))}
        <text x={right} y={heightPx - 6} textAnchor="end">
          {x.label} →
        </text>
      </svg>
      {points.map((point, index) => (
        <Tooltip key={point.key} text={textOf(point, props)}>
          {linkOf(point, {
            className: 'absolute flex size-6 items-center justify-center rounded-full',
            style: {
              left: (placed[index]?.x ?? 0) - markPx / 2,
              top: (placed[index]?.y ?? 0) - markPx / 2,
            },
            'aria-label': textOf(point, props),
            children: <Dot point={point} side={sides[index] ?? null} />,
          })}
        </Tooltip>
      ))}
    </div>
  );
}

function Dot({ point, side }: { point: ScatterPoint; side: 'left' | 'right' | null }) {
  return (
    <>
      <span className="size-2.5 rounded-full" style={{ background: colourOf(point.key) }} />
      {side === null ? null : (
        <span
          aria-hidden="true"
          className={`absolute text-xs whitespace-nowrap text-muted ${side === 'left' ? 'right-5' : 'left-5'}`}
        >
          {point.label}
        </span>
      )}
    </>
  );
}

function textOf(point: ScatterPoint, { x, y }: ScatterProps): string {
  return `${point.label}: ${x.label} ${x.exact(point.x)}, ${y.label} ${y.exact(point.y)}`;
}

function ScatterTable({ title, pointHeader, points, x, y }: ScatterProps) {
  const columns = useMemo(
    (): readonly Column<ScatterPoint>[] => [
      {
        id: 'point',
        header: pointHeader,
        cell: ({ label }) => label,
        value: ({ label }) => label,
        isTitle: true,
      },
      {
        id: 'x',
        header: x.label,
        kind: 'number',
        cell: (point) => x.exact(point.x),
        value: (point) => point.x,
      },
      {
        id: 'y',
        header: y.label,
        kind: 'money',
        cell: (point) => y.exact(point.y),
        value: (point) => point.y,
        isMainFigure: true,
      },
    ],
    [pointHeader, x, y],
  );
  return (
    <DataTable
      id={`chart-${title}`}
      label={title}
      columns={columns}
      rows={points}
      rowId={({ key }) => key}
      isPlain
    />
  );
}
