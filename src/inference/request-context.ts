import type { Key } from '../keys/key.ts';
import type { LogFields } from '../log/log.ts';
import type { MemoryClaim } from '../memory/budget.ts';
import type { ParsedJson } from '../wire/parse-json.ts';

/** The memory that a request holds, by what it is held for. */
export type HeldMemory = Pick<MemoryClaim, 'hold'>;

/** A request as the path of a call needs it; the transport has one such for each. */
export interface RequestContext {
  /** Names the request and all of its candidate attempts (spec:api/4.2). */
  readonly requestId: string;
  /** Monotonic milliseconds of its arrival. */
  readonly startedMs: number;
  /** Aborts when the client leaves, with `ClientDisconnected`, or when the server gives the request up. */
  readonly signal: AbortSignal;
  /** What it holds of the memory of this process; null where that is not counted. */
  readonly memory: HeldMemory | null;
  /** What the request's one log line will say. */
  readonly logFields: Record<string, LogFields[string]>;
  /** The first value of a header by its lower-case name, or null; what is UTF-8 is read as such. */
  header(name: string): string | null;
  /** The body as JSON, at most `maxBytes` of it, and how many bytes it had; throws what the transport refuses. */
  json(maxBytes: number): Promise<{ readonly parsed: ParsedJson; readonly bytes: number }>;
}

/** An identified caller. */
export interface IdentifiedCaller {
  readonly key: Key;
  readonly accountId: number;
}

/** A whole answer, ready to be sent. */
export interface WholeAnswer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/** A streamed answer: its head may be sent at once; `stream` writes the rest and never throws. */
export interface StreamedAnswer {
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: (sink: AnswerSink) => Promise<void>;
}

/** Where a stream's text goes: resolves when the client takes more. Never throws. */
export interface AnswerSink {
  write(text: string): Promise<void> | undefined;
}
