import { type Attributes, type HrTime, type SpanContext, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { AttemptRecord } from '../../generations/generation.ts';
import { krwToDecimal } from '../../money/krw.ts';
import type { EndedCall } from './call-trace.ts';

/** The contexts of the spans of a call. */
export interface SpanContexts {
  /** Of the caller; null: the call is the root of its trace. */
  readonly parent: SpanContext | null;
  readonly call: SpanContext;
  attempt(index: number): SpanContext;
  /** A new one below the call. */
  child(): SpanContext;
}

const scope = { name: 'naru' };
const unset = { code: SpanStatusCode.UNSET };

/** Part of a call: instants are milliseconds since the arrival of its request. */
interface Part {
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: SpanContext;
  readonly parent: SpanContext | null;
  readonly fromMs: number;
  readonly toMs: number;
  readonly attributes: Attributes;
  /** What went wrong; null or absent: nothing. */
  readonly error?: string | null;
  readonly events?: readonly { readonly name: string; readonly atMs: number }[];
}

/**
 * The spans of a call: the call, its admission, each attempt, the time to the first token, the
 * settlement. Attributes follow the semantic conventions of OpenTelemetry for generative AI where
 * these have a name.
 */
export function spansOf(call: EndedCall, contexts: SpanContexts, resource: Resource): ReadableSpan[] {
  return partsOf(call, contexts).map((part) => spanOf(part, call.arrivedAtMs, resource));
}

function partsOf(call: EndedCall, contexts: SpanContexts): Part[] {
  const { attempts } = call;
  const admittedMs = attempts[0]?.at[0] ?? call.settlingMs;
  const child = { kind: SpanKind.INTERNAL, parent: contexts.call };
  return [
    callPart(call, contexts),
    {
      ...child,
      name: 'admission',
      context: contexts.child(),
      fromMs: 0,
      toMs: admittedMs,
      attributes: {},
      error: attempts.length === 0 ? call.errorType : null,
    },
    ...attempts.flatMap((attempt, index) => attemptParts(call, contexts, attempt, index)),
    {
      ...child,
      name: 'settlement',
      context: contexts.child(),
      fromMs: call.settlingMs,
      toMs: call.endedMs,
      attributes: { 'naru.cost_krw': krwToDecimal(call.cost) },
      error: call.isSettled ? null : 'not settled',
    },
  ];
}

function callPart(call: EndedCall, contexts: SpanContexts): Part {
  const { source, errorType } = call;
  const operation = call.operation === 'chat' ? 'chat' : 'text_completion';
  return {
    name: call.requestedModel === null ? operation : `${operation} ${call.requestedModel}`,
    kind: SpanKind.SERVER,
    context: contexts.call,
    parent: contexts.parent,
    fromMs: 0,
    toMs: call.endedMs,
    attributes: {
      'gen_ai.operation.name': operation,
      ...(call.requestedModel === null ? {} : { 'gen_ai.request.model': call.requestedModel }),
      ...(source === null
        ? {}
        : { 'gen_ai.response.model': source.modelId, 'gen_ai.provider.name': source.providerName }),
      'gen_ai.usage.input_tokens': call.promptTokens,
      'gen_ai.usage.output_tokens': call.completionTokens,
      'http.response.status_code': call.status,
      ...(errorType === null ? {} : { 'error.type': errorType }),
      'naru.request_id': call.requestId,
      'naru.generation_id': call.generationId,
      'naru.account_id': call.accountId,
      'naru.stream': call.isStream,
      'naru.cancelled': call.isCancelled,
    },
    error: errorType,
  };
}

/** An attempt, and below that which responded, the time to the first token. */
function attemptParts(
  call: EndedCall,
  contexts: SpanContexts,
  attempt: AttemptRecord,
  index: number,
): readonly Part[] {
  const { firstContentMs } = call;
  const [fromMs = 0, acquiredMs, connectedMs, respondedMs] = attempt.at ?? [];
  const hasResponded = attempt.failure === undefined;
  const context = contexts.attempt(index);
  const events = [
    { name: 'acquired', atMs: acquiredMs },
    { name: 'connected', atMs: connectedMs },
    { name: 'response head', atMs: respondedMs },
  ];
  const part: Part = {
    name: `attempt ${attempt.endpoint_id}`,
    kind: SpanKind.CLIENT,
    context,
    parent: contexts.call,
    fromMs,
    toMs: hasResponded ? call.settlingMs : fromMs + attempt.latency,
    attributes: {
      'gen_ai.provider.name': attempt.provider_name,
      'gen_ai.request.model': attempt.model_permaslug,
      'naru.attempt': index + 1,
      ...(attempt.status === null ? {} : { 'http.response.status_code': attempt.status }),
      ...(hasResponded ? {} : { 'error.type': attempt.failure }),
    },
    error: attempt.failure ?? null,
    events: events.flatMap(({ name, atMs }) => (atMs === undefined ? [] : [{ name, atMs }])),
  };
  if (!hasResponded || firstContentMs === null) return [part];
  const firstToken: Part = {
    name: 'first token',
    kind: SpanKind.INTERNAL,
    context: contexts.child(),
    parent: context,
    fromMs,
    toMs: firstContentMs,
    attributes: {},
  };
  return [part, firstToken];
}

function spanOf(part: Part, arrivedAtMs: number, resource: Resource): ReadableSpan {
  const { parent, error = null, events = [] } = part;
  const timeOf = (ms: number): HrTime => hrTimeOf(arrivedAtMs + ms);
  // Instants of an attempt are whole milliseconds: rounding must not make a negative duration.
  const toMs = Math.max(part.fromMs, part.toMs);
  return {
    name: part.name,
    kind: part.kind,
    spanContext: () => part.context,
    ...(parent === null ? {} : { parentSpanContext: parent }),
    startTime: timeOf(part.fromMs),
    endTime: timeOf(toMs),
    duration: hrTimeOf(toMs - part.fromMs),
    status: error === null ? unset : { code: SpanStatusCode.ERROR, message: error },
    attributes: part.attributes,
    links: [],
    events: events.map(({ name, atMs }) => ({ name, time: timeOf(atMs), attributes: {} })),
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Seconds and nanoseconds. */
function hrTimeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000) * 1_000];
}
