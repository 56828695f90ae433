/** A value of a series: micro-won as `bigint`, counts and durations as numbers; null is no data. */
export type PlotValue = bigint | number | null;

/**
 * Round numbers from zero to at least `max`, three to five of them; whole ones may be fewer. Zero-based,
 * so bars tell the truth.
 */
export function ticksUpTo(max: number, isWhole = false): readonly number[] {
  if (!(max > 0)) return [0, 1];
  const rough = isWhole ? Math.max(1, max / 4) : max / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factors = isWhole && power === 1 ? [1, 2, 5, 10] : [1, 2, 2.5, 5, 10];
  const step = (factors.find((factor) => factor * power >= rough) ?? 10) * power;
  const count = Math.ceil(max / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/** Which of `count` labels are shown when each needs `labelPx` of `widthPx`; always the first. */
export function labelIndexes(count: number, widthPx: number, labelPx: number): readonly number[] {
  const room = Math.max(1, Math.floor(widthPx / labelPx));
  const step = Math.max(1, Math.ceil(count / room));
  return Array.from({ length: Math.ceil(count / step) }, (_, index) => index * step);
}

/** A value as a number for its position. */
export function plotNumber(value: PlotValue): number | null {
  return value === null ? null : Number(value);
}

/** The path of a line with a gap wherever there is no value; a lonely point becomes a dot. */
export function linePath(points: readonly (readonly [x: number, y: number] | null)[]): string {
  let path = '';
  let isDrawing = false;
  for (const [index, point] of points.entries()) {
    if (point === null) {
      isDrawing = false;
      continue;
    }
    const [x, y] = [point[0].toFixed(1), point[1].toFixed(1)];
    const isLonely = !isDrawing && (points[index + 1] ?? null) === null;
    path += isDrawing ? `L${x} ${y}` : `M${x} ${y}${isLonely ? 'h0.01' : ''}`;
    isDrawing = true;
  }
  return path;
}

/** Moves labels apart until none overlaps; keeps their order and stays between `min` and `max`. */
export function spreadLabels(
  wanted: readonly number[],
  gap: number,
  min: number,
  max: number,
): readonly number[] {
  const order = wanted.map((_, index) => index).sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  const placed = [...wanted];
  let previous = min - gap;
  for (const index of order) {
    placed[index] = Math.max(wanted[index] ?? 0, previous + gap);
    previous = placed[index] ?? 0;
  }
  let next = max + gap;
  for (const index of order.toReversed()) {
    placed[index] = Math.min(placed[index] ?? 0, next - gap);
    next = placed[index] ?? 0;
  }
  return placed;
}
