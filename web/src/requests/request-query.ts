import { type StatedLists, statedQuery } from '../usage/stated.ts';

/** The filters whose values are chips that can be removed, each with the parameter of the API and its form. */
const parameters = {
  status: { name: 'status', form: /^[1-5]\d\d$/ },
  error: { name: 'error_type', form: /./ },
  model: { name: 'model', form: /./ },
  provider: { name: 'provider', form: /./ },
  key: { name: 'key', form: /^[0-9a-f]{64}$/ },
  app: { name: 'app', form: /^\d{1,15}$/ },
  finish: { name: 'finish_reason', form: /./ },
} as const;
export type ChipName = keyof typeof parameters;
export const chipNames = Object.keys(parameters) as readonly ChipName[];

export const outcomes = ['', 'ok', 'failed', 'cancelled'] as const;
export type OutcomeFilter = (typeof outcomes)[number];

/** The filters as they stand in the URL; of several values of one filter each is accepted. */
export type RequestFilter = { readonly outcome: OutcomeFilter } & StatedLists & {
    readonly [Name in ChipName]: readonly string[];
  };

/** A filter as the API takes it. */
export type RequestQuery = { readonly outcome?: 'ok' | 'failed' | 'cancelled' } & ReturnType<
  typeof statedQuery
> & {
    readonly [Name in ChipName as (typeof parameters)[Name]['name']]?: string;
  };

/** The parameters of a filter; values of another form are left out. */
export function requestQuery(filter: RequestFilter): RequestQuery {
  const lists = chipNames.flatMap((chip) => {
    const { name, form } = parameters[chip];
    const values = filter[chip].filter((value) => form.test(value));
    return values.length === 0 ? [] : [[name, values.join(',')]];
  });
  return {
    ...(filter.outcome === '' ? {} : { outcome: filter.outcome }),
    ...Object.fromEntries(lists),
    ...statedQuery(filter),
  };
}
