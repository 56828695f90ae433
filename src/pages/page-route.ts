import type { z } from 'zod';
import type { Bilingual } from '../errors/messages.ts';
import type { PageClient } from './page-client.ts';
import type { PageReply } from './page-reply.ts';
import type { Area, OperatorSession, OwnerSession, Role } from './page-session.ts';

/**
 * `none` is for the rows before a session exists, such as sign-in. `person` is for rows of who may
 * sign in: the console accepts no token there, which could outlive itself.
 */
export type PageCredential = 'session' | 'person' | 'none';

export type PageMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A schema, or none. */
type Schema = z.ZodType | undefined;
type Parsed<S extends Schema> = S extends z.ZodType ? z.output<S> : undefined;

/** The area of a path. */
type AreaOf<P extends string> = P extends `/dashboard/${string}` ? 'dashboard' : 'console';

type SessionOf<C extends PageCredential, P extends string> = C extends 'none'
  ? null
  : P extends `/dashboard/${string}`
    ? OwnerSession
    : OperatorSession;

/** The names between braces in a path. */
export type PathParams<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name | keyof PathParams<Rest>]: string }
  : Record<never, never>;

/** The arguments of a handler: parsed and allowed. */
export interface PageCall<C extends PageCredential, P extends string, Q extends Schema, B extends Schema> {
  readonly params: PathParams<P>;
  readonly query: Parsed<Q>;
  readonly body: Parsed<B>;
  readonly session: SessionOf<C, P>;
  readonly client: PageClient;
  /** Aborts when the browser leaves. */
  readonly signal: AbortSignal;
  /**
   * The idempotency key of a change, for what is idempotent itself (`page:<key>` in the ledger);
   * empty otherwise.
   */
  readonly changeKey: string;
}

/** One endpoint of the page API, as its row states it. */
interface DeclaredRoute<
  M extends PageMethod,
  C extends PageCredential,
  P extends string,
  Q extends Schema,
  B extends Schema,
  R extends z.ZodType,
> {
  readonly method: M;
  /** `/dashboard/api/…` or `/console/api/…`, with `{name}` for a path parameter. */
  readonly path: P;
  /** A session unless stated. */
  readonly credential?: C;
  /** The least role of an operator; `viewer` when absent. Only rows of the console have one. */
  readonly role?: Role;
  /** What the row does, in one sentence: for its reader. */
  readonly summary: string;
  readonly query?: Q;
  /** The JSON body of a change. */
  readonly body?: B;
  /** What the body of a response has; of a stream: one event's data. */
  readonly response: R;
  /**
   * The secrets of the response to a change, which leave once (spec:api/2.1): a repeated request gets
   * null in their place, and `message` as the reason, which is null in the first response.
   */
  readonly sentOnce?: {
    readonly members: readonly (keyof z.input<R> & string)[];
    readonly message: Bilingual;
  };
  /** JSON when absent. A `csv` row returns a file, a `stream` row server-sent events. */
  readonly format?: 'csv' | 'stream';
  readonly handle: (call: PageCall<C, P, Q, B>) => Promise<z.input<R> | PageReply> | z.input<R> | PageReply;
}

/**
 * One endpoint of the page API: dispatch, the types of the web (`page-api.ts`) and the looped tests
 * derive from these rows.
 */
export interface PageRoute<
  M extends PageMethod,
  C extends PageCredential,
  P extends string,
  Q extends Schema,
  B extends Schema,
  R extends z.ZodType,
> extends DeclaredRoute<M, C, P, Q, B, R> {
  readonly area: AreaOf<P>;
  readonly credential: C;
}

/** Guards against a row without its own types. */
// biome-ignore lint/suspicious/noExplicitAny: rows of different paths and schemas share one table.
export type AnyPageRoute = PageRoute<PageMethod, any, any, any, any, any>;

/** The area that a path is in. */
export function areaOf<P extends string>(path: P): AreaOf<P> {
  return (path.startsWith('/dashboard/') ? 'dashboard' : 'console') as AreaOf<P>;
}

/** Declares one endpoint: its area follows from its path; at compile time it ties the handler to its row. */
export function pageRoute<
  M extends PageMethod,
  const P extends `/${Area}/api/${string}`,
  R extends z.ZodType,
  const C extends PageCredential = 'session',
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(declared: DeclaredRoute<M, C, P, Q, B, R>): PageRoute<M, C, P, Q, B, R> {
  return { credential: 'session' as C, ...declared, area: areaOf(declared.path) };
}

/** Whether a row changes something: then it needs the own origin and an idempotency key. */
export function isChange(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD';
}
