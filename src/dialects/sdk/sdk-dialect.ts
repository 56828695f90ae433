import type { Ask } from '../../wire/chat.ts';
import { type Destination, type Dialect, type Exchange, Unsayable } from '../dialect.ts';
import { understood } from '../known-parameters.ts';
import type { ParameterChange } from '../parameter-change.ts';
import { type ReasoningWish, readReasoning, withinTokens } from '../reasoning.ts';
import { spokenParameters } from './accepted-parameters.ts';
import { writeCall } from './call-options.ts';
import { beginExchange, type Speech } from './codec.ts';
import type { SupportedUrls } from './media.ts';
import { readReason } from './parse-error-message.ts';
import type { Idiom, OpenModel } from './provider-quirks.ts';

/** What makes a package a dialect of ours. */
export interface SdkDialect {
  readonly name: string;
  readonly baseUrl: string;
  readonly streamType: string;
  readonly idiom: Idiom;
  /** Loads the package. */
  readonly load: () => Promise<OpenModel>;
}

/**
 * A dialect that a provider package translates (docs/decisions/dialects.md). The package is loaded as soon as there is a provider
 * for it, and not before; a request that comes earlier waits for it.
 */
export function sdkDialect(how: SdkDialect): Dialect {
  const loading = how.load();
  loading.catch(() => {}); // told to whoever asks
  return {
    name: how.name,
    begin: async (ask, to) => begin(how, await loading, ask, to),
    readReason,
  };
}

/**
 * Packages add what a model may think with to the longest completion, but a client's limit covers both, as with OpenRouter: a
 * request that came out above it is written again, with less to think.
 */
async function begin(how: SdkDialect, openModel: OpenModel, ask: Ask, to: Destination): Promise<Exchange> {
  const wish = readReasoning(understood(ask.parameters, to));
  const most = ask.maxTokens ?? to.maxCompletionTokens;
  const first = await put(how, openModel, ask, to, wish, most);
  if (most === null || !wish.stated || maxTokensIn(how, first) <= most) return first;
  const smaller = withinTokens(wish, most);
  return put(how, openModel, ask, to, smaller, most - (smaller.budget ?? 0));
}

async function put(
  how: SdkDialect,
  openModel: OpenModel,
  ask: Ask,
  to: Destination,
  reasoning: ReasoningWish,
  maxTokens: number | null,
): Promise<Exchange> {
  const { idiom, streamType, baseUrl } = how;
  const open: Speech['open'] = (fetch) => openModel(to.model, fetch);
  const urls = (await open(notForAsking).supportedUrls) as SupportedUrls;
  return beginExchange({
    open,
    options: writeCall(ask, { idiom, to, urls, reasoning, maxTokens }),
    stream: ask.stream,
    streamType,
    baseUrl,
    changesIn: (body) => changesOf(ask, to, body),
    reader: { idiom, model: to.model, showsThoughts: reasoning.shown },
  });
}

/** What the APIs behind the packages call parameters that only some of their models take. */
const wireNames: Readonly<Record<string, readonly string[]>> = {
  temperature: ['temperature'],
  top_p: ['top_p', 'topP'],
  top_k: ['top_k', 'topK'],
  seed: ['seed'],
  stop: ['stop_sequences', 'stopSequences'],
  presence_penalty: ['presence_penalty', 'presencePenalty'],
  frequency_penalty: ['frequency_penalty', 'frequencyPenalty'],
};

/** What a package has no place for, and what it left out for a model. */
function changesOf({ parameters }: Ask, to: Destination, body: string): readonly ParameterChange[] {
  const sent = understood(parameters, to);
  const isSent = (name: string): boolean =>
    Object.hasOwn(sent, name) &&
    spokenParameters.has(name) &&
    (wireNames[name]?.some((wire) => body.includes(`"${wire}":`)) ?? true);
  return Object.keys(parameters)
    .filter((name) => !isSent(name))
    .map((parameter) => ({ parameter, change: 'dropped' }));
}

function maxTokensIn({ idiom }: SdkDialect, { request }: Exchange): number {
  return idiom.maxTokensOf(JSON.parse(request.body)) ?? 0;
}

async function notForAsking(): Promise<Response> {
  throw new Unsayable('nothing is asked before it is written');
}
