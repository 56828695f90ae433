import type { Candidate } from '../catalogue/model.ts';
import type { AttemptRecord } from '../generations/generation.ts';
import type { AnswerChunk } from '../wire/chat.ts';
import type { HeldMemory } from '../wire/request-context.ts';
import type { ChunkSource } from './chunk-source.ts';
import type { ExpiredLimit } from './stream-error.ts';

/** A candidate that has spoken. */
export interface CandidateResponse {
  readonly candidate: Candidate;
  /** Monotonic instant at which it was asked, after any wait for a lane. */
  readonly sentAtMs: number;
  /** What was said so far: the whole answer, or the chunks up to the first that means something. Who passes a stream on empties it. */
  first: readonly AnswerChunk[];
  /** The status of its response. */
  readonly status: number;
  /** Milliseconds from asking to the first byte of its response. */
  readonly firstByteMs: number;
  /** Where the rest of a stream comes from; null for a whole answer. */
  readonly rest: ChunkSource | null;
  /** Gives the engine's lane back and lets go of the connection; called once, whatever happened. */
  release(): void;
}

/** How one candidate ended. A failed one is a value: the chain steps over it. */
export type Outcome =
  | { readonly kind: 'answered'; readonly answer: CandidateResponse }
  | {
      readonly kind: 'refused';
      readonly status: number | null;
      readonly reason: string;
      /** What it said about when to come back, in milliseconds; null or absent: nothing. */
      readonly retryAfterMs?: number | null;
      /** Its own sentence about it, fit for the client (`clientMessage`); null or absent: none. */
      readonly clientMessage?: string | null;
    }
  /** Its dialect has no words for the request: it was not asked. */
  | { readonly kind: 'unsupported'; readonly reason: string }
  /** Not connected, or broken off; `status` is that of the head, if there was one. */
  | { readonly kind: 'unreachable'; readonly status: number | null; readonly reason: string }
  | { readonly kind: 'timed_out'; readonly reason: string; readonly expired: ExpiredLimit }
  /** The client left, or the server stops, while it was being asked; `status` is that of the head, if there was one. */
  | { readonly kind: 'cancelled'; readonly status: number | null }
  | { readonly kind: 'loading'; readonly retryAfterSec: number };

/** What an attempt at a chain is about. */
export interface AttemptContext {
  readonly accountId: number;
  /** Ties all attempts of a request together in the log (spec:api/4.2). */
  readonly requestId: string;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** What the request holds of the memory of this process; null where that is not counted. */
  readonly memory: HeldMemory | null;
  /** What was tried so far; one line is added for each candidate. */
  readonly attempts: AttemptRecord[];
}
