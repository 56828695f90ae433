import { classNames } from '../class-names.ts';
import type { ChartProps, ChartSeries } from './chart-data.ts';
import { coloursOf } from './colour.ts';
import type { Layout } from './layout.ts';
import { linePath, plotNumber, spreadLabels } from './scale.ts';
import { YAxis } from './y-axis.tsx';

interface PlotProps extends ChartProps {
  readonly layout: Layout;
  readonly active: number | null;
}

/** The drawing itself. Hidden from assistive technology, which reads the slider over it and the table. */
export function Plot(props: PlotProps) {
  const { layout, kind, active } = props;
  return (
    <svg
      aria-hidden="true"
      width={layout.widthPx}
      height={layout.heightPx}
      className={classNames('chart block overflow-visible')}
    >
      <Axes {...props} />
      <Marks {...props} />
      {kind === 'lines' ? <Lines {...props} /> : <Bars {...props} />}
      {active === null || kind !== 'lines' ? null : (
        <line
          className="cursor"
          x1={layout.xOf(active)}
          x2={layout.xOf(active)}
          y1={layout.top}
          y2={layout.bottom}
        />
      )}
    </svg>
  );
}

function Axes({ layout, points, values }: PlotProps) {
  return (
    <>
      <YAxis {...layout} text={values.axis} />
      {layout.labels.map((index) => (
        <text
          key={points[index]?.key ?? index}
          x={layout.xOf(index)}
          y={layout.heightPx - 6}
          textAnchor={anchorOf(layout, index)}
        >
          {points[index]?.label}
        </text>
      ))}
    </>
  );
}

/** A line with a triangle at its foot for each marked point. */
function Marks({ layout, points }: PlotProps) {
  return points.map(({ key, isMarked = false }, index) => {
    if (!isMarked) return null;
    const x = layout.xOf(index);
    return (
      <g key={key}>
        <line className="mark" x1={x} x2={x} y1={layout.top} y2={layout.bottom} />
        <path className="mark" d={`M${x - 4} ${layout.bottom}h8l-4 -7z`} />
      </g>
    );
  });
}

/** The first label of a line chart would leave the plot at the left, the last at the right. */
function anchorOf(layout: Layout, index: number): 'start' | 'middle' | 'end' {
  const x = layout.xOf(index);
  if (x - layout.left < 8) return 'start';
  return layout.right - x < 20 ? 'end' : 'middle';
}

function Bars({ layout, series, points, active }: PlotProps) {
  const colours = coloursOf(series);
  return points.flatMap(({ key: pointKey }, index) => {
    let from = 0;
    return series.map(({ key, values }, rank) => {
      const number = plotNumber(values[index] ?? null);
      if (number === null || number === 0) return null;
      const bottom = from;
      from += number;
      return (
        <Part
          key={`${key} ${pointKey}`}
          layout={layout}
          x={layout.xOf(index) - layout.barPx / 2}
          widthPx={layout.barPx}
          from={bottom}
          to={from}
          colour={colours[rank] ?? ''}
          isDim={active !== null && active !== index}
        />
      );
    });
  });
}

function Part(props: {
  layout: Layout;
  x: number;
  widthPx: number;
  from: number;
  to: number;
  colour: string;
  isDim: boolean;
}) {
  const { layout, from, to } = props;
  const top = layout.yOf(to);
  const height = layout.yOf(from) - top;
  return (
    <rect
      x={props.x}
      y={top}
      width={props.widthPx}
      // A value above zero is visible, and parts of a stack have a line of background between them.
      height={Math.max(to > from ? 1 : 0, height - (from > 0 ? 1 : 0))}
      style={{ fill: props.colour, opacity: props.isDim ? 0.35 : 1 }}
    />
  );
}

function Lines({ layout, series, active }: PlotProps) {
  const colours = coloursOf(series);
  return (
    <>
      {series.map(({ key, values }, rank) => (
        <path
          key={key}
          d={linePath(values.map((value, index) => pointAt(layout, value, index)))}
          fill="none"
          strokeWidth={2}
          strokeLinejoin="round"
          strokeLinecap="round"
          style={{ stroke: colours[rank] }}
        />
      ))}
      {active === null
        ? null
        : series.map(({ key, values }, rank) => {
            const point = pointAt(layout, values[active] ?? null, active);
            return point === null ? null : (
              <circle
                key={key}
                cx={point[0]}
                cy={point[1]}
                r={3.5}
                style={{ fill: colours[rank], stroke: 'var(--bg)', strokeWidth: 1.5 }}
              />
            );
          })}
      {layout.hasEndLabels ? <EndLabels layout={layout} series={series} /> : null}
    </>
  );
}

/** The name of each line at its end, moved apart where lines end close together. */
function EndLabels({ layout, series }: { layout: Layout; series: readonly ChartSeries[] }) {
  const maxChars = 18;
  const wanted = series.map(({ values }) => {
    const last = values.findLast((value) => value !== null) ?? null;
    return layout.yOf(plotNumber(last) ?? 0);
  });
  const colours = coloursOf(series);
  const placed = spreadLabels(wanted, 14, layout.top + 4, layout.bottom);
  return series.map(({ key, label }, index) => (
    <g key={key}>
      <rect
        x={layout.right + 8}
        y={(placed[index] ?? 0) - 1}
        width={6}
        height={2}
        style={{ fill: colours[index] }}
      />
      <text x={layout.right + 18} y={placed[index]} dy="0.32em">
        {label.length > maxChars ? `${label.slice(0, maxChars - 1)}…` : label}
      </text>
    </g>
  ));
}

function pointAt(
  layout: Layout,
  value: bigint | number | null,
  index: number,
): readonly [number, number] | null {
  const number = plotNumber(value);
  return number === null ? null : [layout.xOf(index), layout.yOf(number)];
}
