import type { TestResponse } from '../../harness/gateway.ts';
import type { Act, Moment } from './wire.ts';

/** A token count of the bill: the upstream's own, or our own count (spec:money/4.8,4.9). */
export type Count = number | 'counted';

/** The expected end of a cell; the text `*` is checked elsewhere, or does not matter. */
export type Expected =
  /** The candidate fails before any content was sent: with this status, none, or by its silence. */
  | { readonly kind: 'failed'; readonly code: number | null | 'timeout' }
  | {
      readonly kind: 'responded';
      readonly text: string;
      readonly prompt: Count;
      readonly completion: Count;
    }
  /** It fails after some content of a stream: an error event, no charge. */
  | {
      readonly kind: 'broken';
      readonly text: string;
      readonly pair: '502 provider_error' | '408 timeout';
      readonly code: number | null;
    };

/**
 * What the gateway waits for, which limits a cell's duration: nothing in particular, or one of the
 * limits.
 */
export type Takes = 'nothing' | 'firstByte' | 'idle' | 'total' | 'errorBody';

/** One way for an upstream to misbehave, and the expected result. */
export interface Fault {
  readonly name: string;
  readonly act: Act;
  readonly stream: Expected;
  readonly whole: Expected;
  /** When the act begins; `never`: no listener. */
  readonly on?: Moment | 'never';
  /** Of a streamed and of a JSON response. */
  readonly takes?: Takes | readonly [stream: Takes, whole: Takes];
  /** It keeps the processor busy, so that no other cell may run beside it. */
  readonly heavy?: boolean;
  /**
   * It takes hundreds of turns of the event loop, one for each byte or event: more time than the
   * limits leave while other cells run beside it.
   */
  readonly manyTurns?: boolean;
  /** Members of the request's body. */
  readonly request?: object;
  /** Further checks of a response. */
  readonly look?: (response: TestResponse, stream: boolean) => void;
}

/** Faults of one kind. */
export interface FaultClass {
  readonly name: string;
  readonly faults: readonly Fault[];
}

/** The default content of every response. */
export const words = '나루 is here 👋';

export const failed = (code: number | null | 'timeout'): Expected => ({ kind: 'failed', code });
export const responds = (text = words, prompt: Count = 10, completion: Count = 5): Expected => ({
  kind: 'responded',
  text,
  prompt,
  completion,
});
export const broken = (text = words, code: number | null = null): Expected => ({
  kind: 'broken',
  text,
  pair: '502 provider_error',
  code,
});
export const silent = (text = words): Expected => ({ kind: 'broken', text, pair: '408 timeout', code: null });

/** The same end for both kinds of request. */
export function both(expected: Expected): { readonly stream: Expected; readonly whole: Expected } {
  return { stream: expected, whole: expected };
}

/**
 * An upstream that always streams: a JSON response is aggregated from the stream, and one that
 * breaks off is none, with the status of its head unless it named another.
 */
export function streamed(expected: Expected): { readonly stream: Expected; readonly whole: Expected } {
  if (expected.kind !== 'broken') return both(expected);
  const code = expected.pair === '408 timeout' ? 'timeout' : (expected.code ?? 200);
  return { stream: expected, whole: failed(code) };
}
