import type { AttemptRecord } from '../../generations/generation.ts';
import type { Krw } from '../../money/krw.ts';
import type { TraceContext } from '../../wire/request-context.ts';

/** Traces calls to models (docs/tracing.md). */
export interface CallTracer {
  /** Begins a trace, or continues that of a trusted proxy. Cheap: spans are made at the end. */
  begin(incoming: TraceContext | null): CallTrace;
}

/** The trace of one call. */
export interface CallTrace {
  /** The headers by which the engine of a slot continues the trace, for an attempt by its index. */
  headersOf(attempt: number): Readonly<Record<string, string>>;
  /** Makes the spans, once, when the call has ended. */
  end(call: EndedCall): void;
}

/** What a trace shows of a call: nothing that the client or the model wrote. */
export interface EndedCall {
  readonly requestId: string;
  readonly generationId: string;
  readonly accountId: number;
  readonly operation: 'chat' | 'text';
  /** The model that the client asked for first; null: the request was not readable. */
  readonly requestedModel: string | null;
  readonly isStream: boolean;
  readonly status: number;
  readonly errorType: string | null;
  readonly isCancelled: boolean;
  /** Null: no candidate responded. */
  readonly source: { readonly modelId: string; readonly providerName: string } | null;
  readonly attempts: readonly AttemptRecord[];
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cost: Krw;
  /** When the request arrived, epoch milliseconds; the instants below are milliseconds since then. */
  readonly arrivedAtMs: number;
  /** Null: no content was sent. */
  readonly firstContentMs: number | null;
  /** When the response had ended and its settlement began. */
  readonly settlingMs: number;
  readonly endedMs: number;
  /** Whether the settlement is durable. */
  readonly isSettled: boolean;
}
