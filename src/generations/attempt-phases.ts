import type { AttemptRecord, GenerationDetail } from './generation.ts';

/** The parts of an attempt in milliseconds; null for a part that did not begin. */
export interface AttemptPhases {
  /** Until it had a provider or a lane of a slot, the start of an engine included. */
  readonly queueMs: number;
  /** Until it had a connection. */
  readonly connectMs: number | null;
  /** Until the head of the response arrived. */
  readonly firstByteMs: number | null;
  /** Until the first content of a stream. */
  readonly firstTokenMs: number | null;
  /** Until the end of the response. */
  readonly streamMs: number | null;
}

/** The parts of an attempt. The part that was under way when the attempt failed ends with it. */
export function phasesOf(
  attempt: AttemptRecord,
  { streamed, latency_ms: contentMs, generation_ms: endMs }: GenerationDetail,
): AttemptPhases {
  const [startsMs = 0, acquiredMs, connectedMs, respondedMs] = attempt.at;
  const didRespond = attempt.failure === undefined;
  const failedMs = startsMs + attempt.latency;
  const lastMs = didRespond ? Math.max(failedMs, endMs ?? failedMs) : failedMs;
  const none = { connectMs: null, firstByteMs: null, firstTokenMs: null, streamMs: null };
  if (acquiredMs === undefined) return { ...none, queueMs: between(startsMs, lastMs) };
  const queueMs = between(startsMs, acquiredMs);
  if (connectedMs === undefined) return { ...none, queueMs, connectMs: between(acquiredMs, lastMs) };
  const connectMs = between(acquiredMs, connectedMs);
  if (respondedMs === undefined)
    return { ...none, queueMs, connectMs, firstByteMs: between(connectedMs, lastMs) };
  const before = { queueMs, connectMs, firstByteMs: between(connectedMs, respondedMs) };
  if (streamed !== true || isError(attempt))
    return { ...before, firstTokenMs: null, streamMs: between(respondedMs, lastMs) };
  if (!didRespond) return { ...before, firstTokenMs: between(respondedMs, lastMs), streamMs: null };
  const firstMs = contentMs ?? failedMs;
  return { ...before, firstTokenMs: between(respondedMs, firstMs), streamMs: between(firstMs, lastMs) };
}

/** Whether the rest of the response was the body of an error. */
function isError({ status }: AttemptRecord): boolean {
  return status !== null && status > 299;
}

/** The instants were rounded one by one. */
function between(fromMs: number, toMs: number): number {
  return Math.max(0, toMs - fromMs);
}
