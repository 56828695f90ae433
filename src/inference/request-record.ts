import type { Candidate } from '../catalogue/model.ts';
import { resolveApp } from '../generations/apps.ts';
import { type GenerationDetail, tagMember } from '../generations/generation.ts';
import type { Plan } from '../routing/plan.ts';
import type { CompletionKind, CompletionRequest } from '../wire/chat.ts';
import type { RequestContext } from '../wire/request-context.ts';

const maxStoredLength = 500;
/** What is recorded of `metadata` is what OpenAI accepts (spec:compat/4.7). */
const maxTags = 16;
const maxTagName = 64;
const maxTagValue = 512;

/**
 * A client's or upstream's text in a form that every database accepts: bounded, without NUL,
 * without lone surrogates.
 */
export function storable(text: string, maxLength = maxStoredLength): string {
  return text.slice(0, maxLength).toWellFormed().replaceAll('\0', '\u{fffd}');
}

/** What a record contains of the request itself, before there is a response. */
export function requestDetail(
  exchange: Pick<RequestContext, 'requestId' | 'header'>,
  endpoint: CompletionKind,
): GenerationDetail {
  const title =
    exchange.header('x-service-title') ?? exchange.header('x-openrouter-title') ?? exchange.header('x-title');
  const referer = exchange.header('http-referer') ?? exchange.header('referer');
  const userAgent = exchange.header('user-agent');
  return {
    request_id: exchange.requestId,
    api_type: 'completions',
    endpoint,
    http_referer: storableOr(referer),
    title: storableOr(title),
    user_agent: storableOr(userAgent),
    app: resolveApp({ title, referer, userAgent }),
  };
}

/** What is added to a record after its request was admitted. */
export type MutableDetail = { -readonly [K in keyof GenerationDetail]?: GenerationDetail[K] };

/** What a record contains of the request's body. */
export function bodyDetail(request: CompletionRequest): MutableDetail {
  const detail: MutableDetail = {
    requested_models: request.models.map((model) => storable(model)),
    streamed: request.stream,
    external_user: storableOr(request.user),
    session_id: storableOr(request.sessionId),
    media_parts: request.mediaParts,
  };
  if (request.ignored.length > 0) detail.ignored_parameters = request.ignored.map((name) => storable(name));
  const tags = textsOf(request.parameters['metadata']);
  if (tags.length > 0) detail.metadata = Object.fromEntries(tags);
  return detail;
}

/** The texts of `metadata`; members of other types, and with longer names, are not recorded. */
function textsOf(metadata: unknown): readonly (readonly [member: string, value: string])[] {
  return Object.entries(metadata ?? {})
    .flatMap(([name, value]: [string, unknown]) =>
      typeof value === 'string' && name !== '' && name.length <= maxTagName
        ? [[tagMember(storable(name)), storable(value, maxTagValue)] as const]
        : [],
    )
    .slice(0, maxTags);
}

/** The candidates of each kind that are recorded. */
const maxRecorded = 32;

/**
 * Why the candidates were tried in this order, unless that is the order of the configuration. A
 * candidate is the index of its model in the request, and its label: some 30 bytes each.
 */
export function routeOf(
  { models }: CompletionRequest,
  { chain, rejected: dropped, demoted: held, orderedBy: by }: Plan,
): GenerationDetail['route'] {
  if (by === 'file' && dropped.length === 0 && held.length === 0) return undefined;
  const recorded = ({ modelId, label }: Candidate): readonly [number, string] => [
    Math.max(0, models.indexOf(modelId)),
    storable(label),
  ];
  return {
    by,
    chain: chain.slice(0, maxRecorded).map(recorded),
    held: held.slice(0, maxRecorded).map(({ candidate, why }) => [...recorded(candidate), why] as const),
    dropped: dropped
      .slice(0, maxRecorded)
      .map(({ candidate, why }) => [...recorded(candidate), why] as const),
  };
}

/** `storable`, or null for nothing. */
export function storableOr(text: string | null): string | null {
  return text === null ? null : storable(text);
}
