import type { CompletionRequest } from '../../wire/chat.ts';
import { type Destination, type Dialect, UnsupportedRequest, type UpstreamCodec } from '../dialect.ts';
import { knownParameters } from '../known-parameters.ts';
import type { ParameterChange } from '../parameter-change.ts';
import { type ReasoningOptions, readReasoning, withinTokens } from '../reasoning.ts';
import { sdkParameters } from './accepted-parameters.ts';
import { writeCall } from './call-options.ts';
import { createCodec, type SdkCall } from './codec.ts';
import type { SupportedUrls } from './media.ts';
import { parseErrorMessage } from './parse-error-message.ts';
import type { OpenModel, ProviderQuirks } from './provider-quirks.ts';

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
    parseErrorMessage,
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
  request: CompletionRequest,
  to: Destination,
): Promise<UpstreamCodec> {
  const options = readReasoning(knownParameters(request.parameters, to));
  const maxTokens = request.maxTokens ?? to.maxCompletionTokens;
  const asStated = () => put(how, openModel, request, to, options, maxTokens);
  if (maxTokens === null || !options.stated) return asStated();
  const brief = { ...request, kind: 'chat' as const, input: briefInput };
  const tried = await put(how, openModel, brief, to, options, maxTokens);
  if (maxTokensIn(how, tried) <= maxTokens) return asStated();
  const smaller = withinTokens(options, maxTokens);
  return put(how, openModel, request, to, smaller, maxTokens - (smaller.budget ?? 0));
}

async function put(
  how: SdkDialect,
  openModel: OpenModel,
  request: CompletionRequest,
  to: Destination,
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
    changesIn: (body) => changesOf(request, to, body),
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
    (wireNames[name]?.some((wire) => body.includes(`"${wire}":`)) ?? true);
  return Object.keys(parameters)
    .filter((name) => !isSent(name))
    .map((parameter) => ({ parameter, change: 'dropped' }));
}

function maxTokensIn({ quirks }: SdkDialect, { request }: UpstreamCodec): number {
  return quirks.maxTokensOf(JSON.parse(request.body)) ?? 0;
}

async function rejectRequest(): Promise<Response> {
  throw new UnsupportedRequest('a request was sent before it was encoded');
}
