import { integerOf } from './query-values.ts';

const defaultLimit = 500;
const maxLimit = 1000;

/** The part of a list that was asked for. */
export interface Page {
  of<T>(all: readonly T[]): readonly T[];
  /** Where the next page is, everything else that was asked kept; null when this one is the last. */
  next(path: string, query: URLSearchParams, total: number): string | null;
}

/** Reads `offset` and `limit` (spec:compat/7.4); without either the page is everything. Refuses with `400 invalid_request`. */
export function readPage(query: URLSearchParams): Page {
  const offset = query.get('offset');
  const limit = query.get('limit');
  if (offset === null && limit === null) return { of: (all) => all, next: () => null };
  const from = offset === null ? 0 : integerOf('offset', offset, 0);
  const most = limit === null ? defaultLimit : integerOf('limit', limit, 1, maxLimit);
  return {
    of: (all) => all.slice(from, from + most),
    next: (path, asked, total) => {
      if (from + most >= total) return null;
      const next = new URLSearchParams(asked);
      next.set('offset', String(from + most));
      next.set('limit', String(most));
      return `${path}?${next}`;
    },
  };
}
