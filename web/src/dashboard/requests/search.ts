import { useMemo } from 'react';
import { oneOf, type SearchSchema, text, useRange, useSearchParams } from '../../app/search-params.ts';
import { daysOf } from '../../format/range.ts';
import { startOfDay } from '../../format/time.ts';

const dayMs = 86_400_000;
const outcomes = ['', 'ok', 'failed', 'cancelled'] as const;
export type OutcomeFilter = (typeof outcomes)[number];

interface Search {
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
const schema: SearchSchema<Search> = {
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

/** The names of the filters that a chip shows and clears. */
export const chipNames = ['status', 'error', 'model', 'provider', 'key', 'app', 'finish'] as const;

/** The filters of the list of requests in the URL, and as the query of the API. */
export function useRequestSearch() {
  const [range, setRange] = useRange();
  const [search, change] = useSearchParams(schema);
  const query = useMemo(() => {
    const { from, to } = daysOf(range, Date.now());
    const fromMs = startOfDay(from);
    const toMs = startOfDay(to);
    const status = Number(search.status);
    const app = search.app === '' ? Number.NaN : Number(search.app);
    return {
      ...(fromMs === null ? {} : { from: new Date(fromMs).toISOString() }),
      ...(toMs === null ? {} : { to: new Date(toMs + dayMs).toISOString() }),
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
  return { range, setRange, search, change, query } as const;
}
