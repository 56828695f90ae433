import { integerOf } from './query-values.ts';

const defaultLimit = 500;
const maxLimit = 1000;

/** The requested part of a list. */
export interface Page {
  of<T>(all: readonly T[]): readonly T[];
  /** The URL of the next page, with all other parameters; null when this is the last one. */
  next(path: string, query: URLSearchParams, total: number): string | null;
}

/**
 * Reads `offset` and `limit` (spec:compat/7.4); without either the page is the whole list. Refuses
 * with `400 invalid_request`.
 */
export function readPage(query: URLSearchParams): Page {
  const offset = query.get('offset');
  const limit = query.get('limit');
  if (offset === null && limit === null) return { of: (all) => all, next: () => null };
  const from = offset === null ? 0 : integerOf('offset', offset, 0);
  const count = limit === null ? defaultLimit : integerOf('limit', limit, 1, maxLimit);
  return {
    of: (all) => all.slice(from, from + count),
    next: (path, current, total) => {
      if (from + count >= total) return null;
      const next = new URLSearchParams(current);
      next.set('offset', String(from + count));
      next.set('limit', String(count));
      return `${path}?${next}`;
    },
  };
}
