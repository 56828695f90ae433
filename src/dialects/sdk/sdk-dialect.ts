import type { CompletionRequest } from '../../wire/chat.ts';
import type { JsonObject } from '../../wire/json.ts';
import { conform } from '../conversation/conform.ts';
import {
  type Destination,
  type Dialect,
  type ParameterChange,
  UnsupportedRequest,
  type UpstreamCodec,
} from '../dialect.ts';
import { knownParameters } from '../known-parameters.ts';
import { withOwnNames } from '../map-chunks.ts';
import { type ReasoningOptions, readReasoning, withinTokens } from '../reasoning.ts';
import { sdkParameters } from './accepted-parameters.ts';
import { writeCall } from './call-options.ts';
import { createCodec, type SdkCall } from './codec.ts';
import type { SupportedUrls } from './media.ts';
import type { OpenModel, ProviderQuirks } from './provider-quirks.ts';
import { readDetails } from './reasoning-details.ts';

/** What defines a dialect on top of a package. */
export interface SdkDialect {
  readonly name: string;
  readonly baseUrl: string;
  readonly streamType: string;
  readonly quirks: ProviderQuirks;
  /** Loads the package. */
  readonly load: () => Promise<OpenModel>;
}

/**
 * A dialect that a provider package translates (docs/decisions/dialects.md). The package is loaded
 * as soon as there is a provider for it, and not before; an earlier request waits for it.
 */
export function sdkDialect(how: SdkDialect): Dialect {
  const loading = how.load();
  loading.catch(() => {}); // reported to every caller
  return {
    name: how.name,
    encode: async (request, to) => begin(how, await loading, request, to),
  };
}

/**
 * Packages add the reasoning budget to the completion limit, but a client's limit covers both, as
 * with OpenRouter: a request that would exceed it is encoded with a smaller budget. What a package
 * adds does not depend on the prompt, so a brief one shows it.
 */
async function begin(
  how: SdkDialect,
  openModel: OpenModel,
  given: CompletionRequest,
  to: Destination,
): Promise<UpstreamCodec> {
  const { request, changes: conformed, ownName } = conform(given, how.quirks.messages, to.price);
  const stated = readReasoning(knownParameters(request.parameters, to));
  const cannotThink =
    how.quirks.signsCalls(to.model) && stated.effort !== 'none' && lacksThought(request, how, to);
  const reasoning: ReasoningOptions = cannotThink ? { ...stated, effort: 'none', budget: null } : stated;
  const call: Call = {
    request,
    to,
    changes: [
      ...conformed,
      ...lostReasoning(given, how.quirks, to),
      ...(cannotThink && stated.stated ? [{ parameter: 'reasoning', change: 'dropped' } as const] : []),
    ],
  };
  const maxTokens = request.maxTokens ?? to.maxCompletionTokens;
  const asStated = async () => withOwnNames(await put(how, openModel, call, reasoning, maxTokens), ownName);
  if (maxTokens === null || !reasoning.stated) return asStated();
  const brief: Call = { ...call, request: { ...request, kind: 'chat', input: briefInput } };
  const tried = await put(how, openModel, brief, reasoning, maxTokens);
  if (maxTokensIn(how, tried) <= maxTokens) return asStated();
  const smaller = withinTokens(reasoning, maxTokens);
  const second = await put(how, openModel, call, smaller, maxTokens - (smaller.budget ?? 0));
  return withOwnNames(second, ownName);
}

/** A conformed request, and how it differs from the client's. */
interface Call {
  readonly request: CompletionRequest;
  readonly to: Destination;
  readonly changes: readonly ParameterChange[];
}

/**
 * Whether the answer whose calls are being used lacks the thought that its model signed: the model
 * rejects thinking then. Most clients of this format return none.
 */
function lacksThought({ kind, input }: CompletionRequest, { quirks }: SdkDialect, to: Destination): boolean {
  const isSigned = (message: JsonObject | undefined): boolean => hasOwnThought(message, quirks, to);
  const all = kind === 'chat' ? (input as readonly JsonObject[]) : [];
  // Nothing is sent of an answer that had unsigned reasoning alone.
  const messages = all.filter((message) => message['content'] || message['tool_calls'] || isSigned(message));
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  if (messages[last + 1]?.['role'] !== 'tool') return false;
  // Answers in a row become one message, which begins with the thought.
  let first = last;
  while (messages[first - 1]?.['role'] === 'assistant') first -= 1;
  return !isSigned(messages[first]);
}

/** Whether a message has reasoning that the destination's model signed. */
function hasOwnThought(message: JsonObject | undefined, quirks: ProviderQuirks, to: Destination): boolean {
  return readDetails(message?.['reasoning_details'], quirks.format(to.model)).some(
    ({ signature, encrypted }) => signature !== null || encrypted !== null,
  );
}

/** Reasoning of other models, or without its signature, is not sent. */
function lostReasoning(
  { kind, input }: CompletionRequest,
  quirks: ProviderQuirks,
  to: Destination,
): readonly ParameterChange[] {
  const messages = kind === 'chat' ? (input as readonly JsonObject[]) : [];
  const isLost = messages.some(
    (message) =>
      ['reasoning', 'reasoning_content', 'reasoning_details'].some((name) => message[name] != null) &&
      !hasOwnThought(message, quirks, to),
  );
  return isLost ? [{ parameter: 'messages.reasoning', change: 'dropped' }] : [];
}

async function put(
  how: SdkDialect,
  openModel: OpenModel,
  { request, to, changes }: Call,
  reasoning: ReasoningOptions,
  maxTokens: number | null,
): Promise<UpstreamCodec> {
  const { quirks, streamType, baseUrl } = how;
  const open: SdkCall['open'] = (fetch) => openModel(to.model, fetch);
  const urls = (await open(rejectRequest).supportedUrls) as SupportedUrls;
  return createCodec({
    open,
    options: writeCall(request, { quirks, to, urls, reasoning, maxTokens }),
    stream: request.stream,
    streamType,
    baseUrl,
    changesIn: (body) => [
      ...changes,
      ...changesOf(request, to, body).filter(
        ({ parameter }) => !changes.some((change) => change.parameter === parameter),
      ),
    ],
    isSent: isInBody,
    reader: { quirks, model: to.model, showsReasoning: reasoning.shown },
  });
}

const briefInput = [{ role: 'user', content: 'x' }];

/** Wire names of parameters that only some models of the packages' APIs accept. */
const wireNames: Readonly<Record<string, readonly string[]>> = {
  temperature: ['temperature'],
  top_p: ['top_p', 'topP'],
  top_k: ['top_k', 'topK'],
  seed: ['seed'],
  stop: ['stop_sequences', 'stopSequences'],
  presence_penalty: ['presence_penalty', 'presencePenalty'],
  frequency_penalty: ['frequency_penalty', 'frequencyPenalty'],
  service_tier: ['service_tier', 'serviceTier'],
};

/** The parameters that a package does not support, or omitted for a model. */
function changesOf(
  { parameters }: CompletionRequest,
  to: Destination,
  body: string,
): readonly ParameterChange[] {
  const sent = knownParameters(parameters, to);
  const isSent = (name: string): boolean =>
    Object.hasOwn(sent, name) &&
    sdkParameters.has(name) &&
    (isInBody(name, body) || wireNames[name] === undefined);
  return Object.keys(parameters)
    .filter((name) => !isSent(name))
    .map((parameter) => ({ parameter, change: 'dropped' }));
}

function isInBody(name: string, body: string): boolean {
  return wireNames[name]?.some((wire) => body.includes(`"${wire}":`)) ?? false;
}

function maxTokensIn({ quirks }: SdkDialect, { request }: UpstreamCodec): number {
  return quirks.maxTokensOf(JSON.parse(request.body)) ?? 0;
}

async function rejectRequest(): Promise<Response> {
  throw new UnsupportedRequest('a request was sent before it was encoded');
}
