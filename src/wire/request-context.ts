import type { MemoryClaim } from '../memory/budget.ts';
import type { ParsedJson } from './json.ts';

/** The memory that a request uses, by its use. */
export type RequestMemory = Pick<MemoryClaim, 'setBytes'>;

/** A body as JSON, and its size in bytes. */
export interface JsonRequestBody {
  readonly parsed: ParsedJson;
  readonly bytes: number;
}

/** The additional fields of the request's one log line. */
export interface RequestLogFields {
  /** The path of its route; absent when no route was found. */
  route?: string;
  account_id?: number;
  key_id?: number;
  error_type?: string;
  generation_id?: string;
  /** The model and the provider that responded, or were called last; else the model of the request. */
  model?: string;
  provider?: string;
  prompt_tokens?: number;
  completion_tokens?: number;
  cost_micro?: string;
  /** How many candidates were called. */
  attempts?: number;
  admission_wait_ms?: number;
}

/** W3C Trace Context of a request, as it was received. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | null;
}

/** A request as the inference path reads it; the transport's `Exchange` implements it. */
export interface RequestContext {
  /** Identifies the request and all of its attempts (spec:api/4.2). */
  readonly requestId: string;
  /** Monotonic milliseconds of its arrival. */
  readonly startedMs: number;
  /**
   * Aborts with `ClientDisconnected` when the client disconnects, or with the reason for which the
   * server aborts the request.
   */
  readonly signal: AbortSignal;
  /** Aborts the request; a refusal is what its client gets. */
  leave(reason: Error): void;
  /** The memory of this process that it uses; null where that is not counted. */
  readonly memory: RequestMemory | null;
  readonly logFields: RequestLogFields;
  /** The trace that a trusted proxy began; null: there is none. */
  readonly traceContext: TraceContext | null;
  /** The first value of a header by its lower-case name, or null; UTF-8 is decoded. */
  header(name: string): string | null;
  /**
   * Reads the body as JSON, at most `maxBytes` of it; throws the transport's refusals. JSON that
   * cannot be parsed is a value.
   */
  json(maxBytes: number): Promise<JsonRequestBody>;
}
