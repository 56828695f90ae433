import type { Candidate } from '../catalogue/model.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import { callCandidate } from './call-candidate.ts';
import type { Outcome } from './outcome.ts';
import { parseCompletionRequest } from './parse-request.ts';
import type { TargetResolver } from './upstream-target.ts';

/** What a candidate is tried with. */
export const probes = ['answer', 'stream', 'tools', 'json', 'image'] as const;
export type Probe = (typeof probes)[number];

/** How one call of a probe ended. */
export interface ProbeReport {
  readonly probe: Probe;
  /** `untried`: the candidate does not declare it, or the first call has failed. */
  readonly outcome: 'works' | 'fails' | 'untried';
  /** To the whole answer, or to the first token of the stream. */
  readonly tookMs: number | null;
  readonly status: number | null;
  /** Why it failed, in words for the operator. */
  readonly reason: string | null;
}

const limitMs = 30_000;
const maxTokens = 16;
const maxReason = 500;
/** One transparent pixel. */
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const tool = {
  type: 'function',
  function: { name: 'now', description: 'The time', parameters: { type: 'object', properties: {} } },
};

/**
 * Calls a candidate as clients do, once for each capability: real calls, for which the upstream
 * charges and nobody is billed. They change neither health nor records.
 */
export async function probeCandidate(
  targets: TargetResolver,
  candidate: Candidate,
  { requestId, signal }: { readonly requestId: string; readonly signal: AbortSignal },
): Promise<readonly ProbeReport[]> {
  const found: ProbeReport[] = [];
  for (const probe of probes) {
    const isUseless = found[0]?.outcome === 'fails' || (probe === 'image' && !candidate.inputs.has('image'));
    found.push(
      isUseless
        ? { probe, outcome: 'untried', tookMs: null, status: null, reason: null }
        : await probeOnce(targets, candidate, { probe, requestId, signal }),
    );
  }
  return found;
}

async function probeOnce(
  targets: TargetResolver,
  candidate: Candidate,
  {
    probe,
    requestId,
    signal,
  }: { readonly probe: Probe; readonly requestId: string; readonly signal: AbortSignal },
): Promise<ProbeReport> {
  const startedMs = targets.clock.monotonic();
  const { outcome } = await callCandidate(targets, candidate, requestOf(probe, candidate.modelId), {
    of: {
      accountId: 0,
      exchange: { requestId, startedMs, signal, memory: null },
      trace: null,
      attempts: [],
    },
    limits: {
      firstByteMs: limitMs,
      budget: { limitMs, leftMs: limitMs },
      total: { limitMs, leftMs: limitMs },
    },
    onResend: () => {},
  });
  const tookMs = targets.clock.monotonic() - startedMs;
  if (outcome.kind === 'responded') {
    const { status } = outcome.response;
    outcome.response.close();
    return { probe, outcome: 'works', tookMs, status, reason: null };
  }
  const status = 'status' in outcome ? outcome.status : null;
  const { via } = candidate;
  const provider = via.kind === 'provider' ? targets.provider(via.provider) : null;
  const reason = reasonOf(outcome);
  // A provider may quote our credential.
  const shown = (provider?.conceal(reason) ?? reason).slice(0, maxReason);
  return { probe, outcome: 'fails', tookMs, status, reason: shown };
}

function reasonOf(outcome: Exclude<Outcome, { kind: 'responded' }>): string {
  switch (outcome.kind) {
    case 'loading':
      return `the slot is starting; it may be ready in ${outcome.retryAfterSec} s`;
    case 'cancelled':
      return 'the test was cancelled';
    default:
      return outcome.reason;
  }
}

function requestOf(probe: Probe, model: string): CompletionRequest {
  const text = { type: 'text', text: 'Answer with one word.' };
  const content = probe === 'image' ? [text, { type: 'image_url', image_url: { url: pixel } }] : text.text;
  const body = {
    model,
    messages: [{ role: 'user', content: probe === 'json' ? 'Answer with {} as JSON.' : content }],
    max_tokens: maxTokens,
    stream: probe === 'stream',
    ...(probe === 'tools' ? { tools: [tool] } : {}),
    ...(probe === 'json' ? { response_format: { type: 'json_object' } } : {}),
  };
  return parseCompletionRequest('chat', Buffer.from(JSON.stringify(body)), null);
}
