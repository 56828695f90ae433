/** ` (did you mean "openai"?)` when a known word is similar enough; empty otherwise. */
export function hint(word: string, known: Iterable<string>): string {
  const meant = nearest(word, known);
  return meant === null ? '' : ` (did you mean "${meant}"?)`;
}

/** Longer words are not compared letter by letter: no typo of a member or name is that long. */
const maxWordLength = 80;

function nearest(word: string, known: Iterable<string>): string | null {
  const plain = plainOf(word);
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(plain.length / 3)) + 1;
  if (plain.length > maxWordLength) return null;
  for (const candidate of known) {
    const distance = distanceBetween(plain, plainOf(candidate));
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Normalizes `baseUrl`, `base-url` and `base_url` to the same word. */
function plainOf(word: string): string {
  return word.toLowerCase().replaceAll(/[-_.\s]/g, '');
}

/**
 * The edit distance: how many letters must be inserted, deleted, replaced or swapped with a
 * neighbour.
 */
function distanceBetween(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const changed = at(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwap ? at(before, j - 2) + 1 : changed;
      next.push(Math.min(changed, swapped, at(row, j) + 1, at(next, j - 1) + 1));
    }
    [before, row] = [row, next];
  }
  return at(row, to.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
