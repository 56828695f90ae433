import { useMemo } from 'react';
import { instantsOf } from '../app/range-instants.ts';
import { oneOf, type SearchSchema, text, useRange, useSearchParams } from '../app/search-params.ts';

const outcomes = ['', 'ok', 'failed', 'cancelled'] as const;
export type OutcomeFilter = (typeof outcomes)[number];

/** The filters as they stand in the URL. */
export interface RequestSearch {
  readonly find: string;
  readonly outcome: OutcomeFilter;
  readonly status: string;
  readonly error: string;
  readonly model: string;
  readonly provider: string;
  readonly key: string;
  readonly app: string;
  readonly finish: string;
}
const schema: SearchSchema<RequestSearch> = {
  find: text(),
  outcome: oneOf(outcomes, ''),
  status: text(),
  error: text(),
  model: text(),
  provider: text(),
  key: text(),
  app: text(),
  finish: text(),
};

const pageRows = 100;

/** The names of the filters that a chip shows and clears. */
export const chipNames = ['status', 'error', 'model', 'provider', 'key', 'app', 'finish'] as const;

/** The filters of the list of requests in the URL, and as the query of the API. */
export function useRequestSearch() {
  const [range, setRange] = useRange();
  const [search, change] = useSearchParams(schema);
  const query = useMemo(() => {
    const status = Number(search.status);
    const app = search.app === '' ? Number.NaN : Number(search.app);
    return {
      ...instantsOf(range),
      ...(search.outcome === '' ? {} : { outcome: search.outcome }),
      ...(Number.isInteger(status) && status >= 100 && status < 600 ? { status } : {}),
      ...(search.error === '' ? {} : { error_type: search.error }),
      ...(search.model === '' ? {} : { model: search.model }),
      ...(search.provider === '' ? {} : { provider: search.provider }),
      ...(/^[0-9a-f]{64}$/.test(search.key) ? { key: search.key } : {}),
      ...(Number.isInteger(app) && app >= 0 ? { app } : {}),
      ...(search.finish === '' ? {} : { finish_reason: search.finish }),
    };
  }, [range, search]);
  /** An id is looked up among all requests. */
  const listQuery = search.find === '' ? { ...query, limit: pageRows } : { find: search.find };
  return { range, setRange, search, change, query, listQuery } as const;
}
