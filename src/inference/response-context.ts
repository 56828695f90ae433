import type { CountTexts } from '../metering/count-tokens.ts';
import type { Clock } from '../time/clock.ts';
import type { Health } from '../upstreams/health.ts';
import type { Envelope } from '../wire/answer.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import type { RequestContext } from '../wire/request-context.ts';
import type { Usage } from '../wire/usage.ts';
import type { CompletionSizes } from './completion-sizes.ts';
import type { CandidateResponse } from './outcome.ts';
import type { Session } from './session.ts';

/** A request that has its answer in hand and is about to pass it on. */
export interface ResponseContext {
  readonly session: Session;
  readonly ask: CompletionRequest;
  readonly answer: CandidateResponse;
  readonly exchange: RequestContext;
  readonly clock: Clock;
  readonly health: Health;
  readonly sizes: CompletionSizes;
  readonly count: CountTexts;
  /** After this much silence a stream says that it is alive (spec:api/15.8). */
  readonly keepAliveMs: number;
}

/** The headers of a successful answer (spec:api/4.3): the candidate that answered, and the generation's id. */
export function responseHeaders({ session, answer }: ResponseContext): Readonly<Record<string, string>> {
  return {
    'X-Service-Generation-Id': session.id,
    'X-Generation-Id': session.id,
    'X-Service-Model': inAscii(answer.candidate.modelId),
    'X-Service-Provider': inAscii(answer.candidate.providerTag),
  };
}

/** An id may be written in Hangul, a header only in ASCII; no id has a percent sign of its own. */
function inAscii(id: string): string {
  return id.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/** What every object of the answer says of itself. */
export function envelopeOf({ session, ask, answer }: ResponseContext): Envelope {
  return {
    kind: ask.kind,
    id: session.id,
    created: Math.floor(session.createdAtMs / 1000),
    model: answer.candidate.modelId,
    provider: answer.candidate.providerName,
  };
}

/** Tells how the answer of the candidate ended; once for each. `broken`: the upstream failed, or said that it did. */
export function noteEnd(
  { answer, ask, clock, health, sizes }: ResponseContext,
  { completionTokens }: Usage,
  broken: boolean,
): void {
  // An answer that broke off says nothing of how long answers are.
  if (!broken) sizes.note(answer.candidate.modelId, Math.ceil(completionTokens / ask.choices));
  const tookMs = clock.monotonic() - answer.sentAtMs;
  health.ended(answer.candidate.label, { broken, tokens: completionTokens, tookMs });
}
