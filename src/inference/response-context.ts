import type { CountTexts } from '../metering/count-tokens.ts';
import type { Clock } from '../time/clock.ts';
import type { Health } from '../upstreams/health.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import type { Envelope } from '../wire/response.ts';
import type { Usage } from '../wire/usage.ts';
import type { CompletionSizes } from './completion-sizes.ts';
import type { OpenResponse } from './open-response.ts';
import type { Session } from './session.ts';

/** What every response needs of the gateway. */
export interface ResponseParts {
  readonly clock: Clock;
  readonly chain: { readonly health: Health };
  readonly sizes: CompletionSizes;
  /** Our own count of texts. */
  readonly count: CountTexts;
  /** A stream that is silent for this long is sent a keep-alive comment (spec:api/15.8). */
  readonly keepAliveMs: number;
}

/** A request whose candidate has responded. */
export interface ResponseContext {
  readonly parts: ResponseParts;
  readonly session: Session;
  readonly request: CompletionRequest;
  readonly response: OpenResponse;
}

/**
 * The headers of a successful response (spec:api/4.3): the candidate that responded, and the
 * generation's id.
 */
export function responseHeaders({ session, response }: ResponseContext): Readonly<Record<string, string>> {
  return {
    'X-Service-Generation-Id': session.id,
    'X-Generation-Id': session.id,
    'X-Service-Model': inAscii(response.candidate.modelId),
    'X-Service-Provider': inAscii(response.candidate.providerTag),
  };
}

/** An id may contain Hangul, a header only ASCII; no id contains a percent sign. */
function inAscii(id: string): string {
  return id.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/** The members that every object of the response has. */
export function envelopeOf({ session, request, response }: ResponseContext): Envelope {
  return {
    kind: request.kind,
    id: session.id,
    created: Math.floor(session.createdAtMs / 1000),
    model: response.candidate.modelId,
    provider: response.candidate.providerName,
  };
}

/**
 * Records how the candidate's response ended; called once. `broken`: the upstream failed, or
 * reported an error.
 */
export function noteEnd(
  { parts: { clock, chain, sizes }, request, response }: ResponseContext,
  { completionTokens }: Usage,
  broken: boolean,
): void {
  // The length of a broken response says nothing about the next one.
  if (!broken) sizes.note(response.candidate.modelId, Math.ceil(completionTokens / request.choices));
  const tookMs = clock.monotonic() - response.sentAtMs;
  chain.health.ended(response.candidate.label, { broken, tokens: completionTokens, tookMs });
}
