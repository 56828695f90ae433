import type { z } from 'zod';
import type { KeyHash } from '../accounts/api-key.ts';
import type { Caller } from '../accounts/authenticate.ts';
import type { Key } from '../accounts/key.ts';
import type { Credential } from '../accounts/rules.ts';
import type { Refusal } from '../errors/catalogue.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Reply } from '../wire/reply.ts';
import type { RouteDocument } from './document.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** The caller, by the credential that the row requires. */
export type CallerOf<C extends Credential> = C extends 'none' ? null : Caller;

/** The names between braces in a path. */
type PathParams<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name | keyof PathParams<Rest>]: string }
  : Record<never, never>;

/** The query as its schema parses it; empty for a row without one. */
type QueryOf<D extends RouteDocument> = D extends { readonly query: infer Q extends z.ZodType }
  ? z.output<Q>
  : Record<never, never>;

/** The arguments of a handler. */
export interface Call<P extends string, C extends Credential, D extends RouteDocument> {
  readonly params: PathParams<P>;
  readonly query: QueryOf<D>;
  readonly caller: CallerOf<C>;
  readonly exchange: Exchange;
}

/** One endpoint: dispatch, 404, 405 with Allow, and the looped tests derive from these rows. */
export interface Route<
  M extends Method = Method,
  P extends string = string,
  C extends Credential = Credential,
  D extends RouteDocument = RouteDocument,
> {
  readonly method: M;
  /** Below the server's root, with `{name}` for a path parameter. */
  readonly path: P;
  readonly credential: C;
  /** Its documentation; absent for what is not part of the API. */
  readonly document?: D;
  readonly handle: (call: Call<P, C, D>) => Promise<Reply> | Reply;
  /**
   * Called when a known key was refused before `handle`, or any key while the database is away. Only
   * the rows of inference have it: beyond the identification of the caller, these wait for the
   * database only to reserve.
   */
  readonly onRefused?: (refused: RefusedCall) => void;
}

/** A request that dispatch refused. */
export interface RefusedCall {
  readonly hash: KeyHash;
  /** Null: the database is away, and memory does not have the key. */
  readonly key: Key | null;
  readonly exchange: Exchange;
  readonly refusal: Refusal;
}

/** Guards against a row without its own types. */
// biome-ignore lint/suspicious/noExplicitAny: rows of different paths and credentials share one table.
export type AnyRoute = Route<Method, any, any, any>;

/** Declares one endpoint. Identity at run time; at compile time it ties the handler to its row. */
export function route<
  M extends Method,
  const P extends string,
  C extends Credential,
  D extends RouteDocument = RouteDocument,
>(declared: Route<M, P, C, D>): Route<M, P, C, D> {
  return declared;
}
