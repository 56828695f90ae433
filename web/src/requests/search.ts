import { useMemo } from 'react';
import { instantsOf } from '../app/range-instants.ts';
import { list, oneOf, type SearchSchema, text, useRange, useSearchParams } from '../app/search-params.ts';
import { stated } from '../usage/stated.ts';
import { type ChipName, chipNames, outcomes, type RequestFilter, requestQuery } from './request-query.ts';

/** What stands in the URL of a list of requests. */
export type RequestSearch = RequestFilter & { readonly find: string };
const schema: SearchSchema<RequestSearch> = {
  find: text(),
  outcome: oneOf(outcomes, ''),
  status: list(),
  error: list(),
  model: list(),
  provider: list(),
  key: list(),
  app: list(),
  finish: list(),
  user: list(),
  tag: list(),
  tag_value: list(),
};

const pageRows = 100;

/**
 * The filters of a list of requests in the URL, and as the query of the API; `names` are those that
 * the list has.
 */
export function useRequestSearch(names: readonly ChipName[] = chipNames) {
  const [range, setRange] = useRange();
  const [found, change] = useSearchParams(schema);
  const search = useMemo((): RequestSearch => {
    const lists = chipNames.filter((name) => !names.includes(name));
    const others = lists.length === 0 ? [] : [...lists, ...stated];
    return { ...found, ...Object.fromEntries(others.map((name) => [name, []])) };
  }, [found, names]);
  const filter = useMemo(() => requestQuery(search), [search]);
  const query = useMemo(() => ({ ...instantsOf(range), ...filter }), [range, filter]);
  /** An id is looked up among all requests. */
  const listQuery = search.find === '' ? { ...query, limit: pageRows } : { find: search.find };
  return { range, setRange, search, change, filter, listQuery } as const;
}
