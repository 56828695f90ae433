import type { z } from 'zod';
import { integerText } from '../wire/shapes/query.ts';

const defaultLimit = 500;
const maxLimit = 1000;

/** The parameters of a page (spec:compat/7.4). */
export const pageShapes = {
  offset: integerText(0).optional(),
  limit: integerText(1, maxLimit).optional().describe('Without offset and limit the whole list is returned'),
};

/** The requested part of a list. */
export interface Page {
  of<T>(all: readonly T[]): readonly T[];
  /** The URL of the next page, with all other parameters; null when this is the last one. */
  next(path: string, queryText: string, total: number): string | null;
}

/**
 * The page of `offset` and `limit` (spec:compat/7.4); without either it is the whole list.
 */
export function pageOf({ offset, limit }: z.output<z.ZodObject<typeof pageShapes>>): Page {
  if (offset === undefined && limit === undefined) return { of: (all) => all, next: () => null };
  const from = offset ?? 0;
  const count = limit ?? defaultLimit;
  return {
    of: (all) => all.slice(from, from + count),
    next: (path, queryText, total) => {
      if (from + count >= total) return null;
      const next = new URLSearchParams(queryText);
      next.set('offset', String(from + count));
      next.set('limit', String(count));
      return `${path}?${next}`;
    },
  };
}
