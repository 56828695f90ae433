interface YAxisProps {
  readonly ticks: readonly number[];
  readonly left: number;
  readonly right: number;
  readonly yOf: (value: number) => number;
  /** How a value is written on an axis that ends at `max`. */
  readonly text: (value: number, max: number) => string;
}

/** A line through the plot for each tick, with its value at the left. */
export function YAxis({ ticks, left, right, yOf, text }: YAxisProps) {
  return ticks.map((tick) => (
    <g key={tick}>
      <line className={tick === 0 ? 'axis' : 'grid'} x1={left} x2={right} y1={yOf(tick)} y2={yOf(tick)} />
      <text x={left - 8} y={yOf(tick)} dy="0.32em" textAnchor="end">
        {text(tick, ticks.at(-1) ?? 1)}
      </text>
    </g>
  ));
}
