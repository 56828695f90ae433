/** A mark and how wide its name is. */
export interface LabelledMark {
  readonly x: number;
  readonly y: number;
  readonly widthPx: number;
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly y: number;
}

const lineHeightPx = 15;
const gapPx = 8;

/**
 * On which side of each mark its name stands: where it leaves neither the plot nor covers another
 * mark or name; null where there is no room.
 */
export function placeLabels(
  marks: readonly LabelledMark[],
  plot: { readonly left: number; readonly right: number },
): readonly ('left' | 'right' | null)[] {
  const taken: Box[] = marks.map(({ x, y }) => ({ left: x - gapPx, right: x + gapPx, y }));
  return marks.map(({ x, y, widthPx }, own) => {
    for (const side of ['right', 'left'] as const) {
      const left = side === 'right' ? x + gapPx : x - gapPx - widthPx;
      const box = { left, right: left + widthPx, y };
      const isFree = taken.every((other, index) => index === own || !doOverlap(box, other));
      if (!isFree || box.left < plot.left || box.right > plot.right) continue;
      taken.push(box);
      return side;
    }
    return null;
  });
}

function doOverlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && Math.abs(a.y - b.y) < lineHeightPx;
}
