/**
 * What rolled usage is summed by besides all dimensions: by nothing, or by one of those that are the
 * same for all accounts. Percentiles by one dimension merge the histograms of a cut, which are a
 * fraction of the others. The rows of a cut have its number as `key_id`, and the empty text or 0 in
 * every other dimension.
 */
export const cutKeys = { all: -1, model: -2, provider: -3, status: -4, error: -5, finish: -6 } as const;
type Cut = keyof typeof cutKeys;

/** What has all dimensions but keys and apps: `key_id` of the rows that cuts are made from. */
export const keyOfAll = 0;

/** The key of the cut that has what a query groups and filters by; null when none does. */
export function cutOf(by: string | undefined, only: Readonly<Record<string, unknown>>): number | null {
  const [one, ...others] = new Set([
    ...(by === undefined ? [] : [by]),
    ...Object.entries(only).flatMap(([name, wanted]) => (wanted === undefined ? [] : [name])),
  ]);
  if (others.length > 0) return null;
  const cut = one ?? 'all';
  return isCut(cut) ? cutKeys[cut] : null;
}

function isCut(name: string): name is Cut {
  return name in cutKeys;
}
