import type { z } from 'zod';
import type { consoleRows } from './console/rows.ts';
import type { dashboardRows } from './dashboard/rows.ts';
import type { PathParams } from './page-route.ts';

type Row = ReturnType<typeof dashboardRows | typeof consoleRows>[number];

type InputOf<S> = S extends z.ZodType ? z.input<S> : undefined;

/** Where a parameter is any text, a number is written as its text. */
type QueryOf<Q> = { readonly [K in keyof Q]: string extends Q[K] ? Q[K] | number : Q[K] };

/**
 * What the rows of the page API receive and respond, by method and path. The web imports this type,
 * and nothing else of `src/`.
 */
export type PageApi = {
  readonly [R in Row as `${R['method']} ${R['path']}`]: {
    readonly params: PathParams<R['path']>;
    readonly query: QueryOf<InputOf<R['query']>>;
    readonly body: InputOf<R['body']>;
    readonly response: z.output<R['response']>;
  };
};
