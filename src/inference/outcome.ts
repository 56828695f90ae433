import type { Candidate } from '../catalogue/model.ts';
import type { AttemptRecord } from '../generations/generation.ts';
import type { RequestMemory } from '../wire/request-context.ts';
import type { OpenResponse } from './open-response.ts';
import type { ExpiredLimit } from './stream-error.ts';
import type { CallTrace } from './tracing/call-trace.ts';

/**
 * How the call of one candidate ended. A failure is a value: the chain goes on to the next
 * candidate.
 */
export type Outcome =
  | { readonly kind: 'responded'; readonly response: OpenResponse }
  | {
      readonly kind: 'refused';
      readonly status: number | null;
      readonly reason: string;
      /** Its Retry-After in milliseconds; null or absent: none. */
      readonly retryAfterMs?: number | null;
      /** Its own message, fit for the client (`clientMessage`); null or absent: none. */
      readonly clientMessage?: string | null;
    }
  /** Its dialect cannot express the request, so nothing was sent. */
  | { readonly kind: 'unsupported'; readonly reason: string }
  /**
   * Not connected, or the connection broke; `status` is that of the response's head, if there was
   * one.
   */
  | { readonly kind: 'unreachable'; readonly status: number | null; readonly reason: string }
  | { readonly kind: 'timed_out'; readonly reason: string; readonly expired: ExpiredLimit }
  /**
   * The client left, or the server stopped, during the call; `status` is that of the response's
   * head, if there was one.
   */
  | { readonly kind: 'cancelled'; readonly status: number | null }
  | { readonly kind: 'loading'; readonly retryAfterSec: number }
  /** The engine of its slot does not start or crashes: nothing was sent. */
  | { readonly kind: 'engine_failed'; readonly reason: string };

/** The request for which a chain of candidates is tried. */
export interface AttemptContext {
  readonly accountId: number;
  /** Identifies all attempts of a request in the log (spec:api/4.2). */
  readonly requestId: string;
  /** Monotonic instant at which the request arrived. */
  readonly arrivedMs: number;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** The memory of this process that the request holds; null where that is not counted. */
  readonly memory: RequestMemory | null;
  /** `attempt` notes here which candidate it calls. */
  readonly progress: { candidate: Candidate | null };
  /** Null: calls are not traced. */
  readonly trace: CallTrace | null;
  /** One record for each candidate that was tried so far; `attempt` adds to it. */
  readonly attempts: AttemptRecord[];
}
