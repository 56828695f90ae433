import fc from 'fast-check';
import type { Variant } from '../../src/config/variants.ts';
import { anthropicDialect } from '../../src/dialects/anthropic/index.ts';
import { bedrockDialect } from '../../src/dialects/bedrock/index.ts';
import { type Dialect, UnsupportedRequest } from '../../src/dialects/dialect.ts';
import { googleDialect } from '../../src/dialects/google/index.ts';
import { openaiDialect } from '../../src/dialects/openai/index.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { conversation, markersOf } from './conversations.ts';
import { type Api, apis, judge } from './judge.ts';

const access = { baseUrl: 'https://upstream.example', apiKey: 'k', headers: {} };
const aws = { region: 'us-east-1', accessKeyId: '', secretAccessKey: '', sessionToken: '' };

const modelsOf: Readonly<Record<string, readonly string[]>> = {
  openai: ['gpt-4o', 'gpt-5'],
  azure: ['gpt-4o'],
  deepseek: ['deepseek-chat'],
  moonshot: ['kimi-k2-0905-preview', 'kimi-k2.6'],
  mistral: ['mistral-large-latest', 'mistral-small-latest'],
  xai: ['grok-4.5'],
  groq: ['llama-3.3-70b-versatile', 'openai/gpt-oss-120b'],
};

/** A model of an API. */
export interface Target {
  readonly api: Api;
  readonly dialect: Dialect;
  readonly model: string;
}

/** Where the requests of the law are sent: each API with the models of it that differ. */
export const destinations: readonly Target[] = apis.flatMap((api) => {
  if (api === 'anthropic')
    return models(api, anthropicDialect(access), 'claude-sonnet-4-5', 'claude-opus-4-1');
  if (api === 'google') return models(api, googleDialect(access), 'gemini-2.5-flash', 'gemini-3-pro-preview');
  if (api === 'bedrock')
    return models(
      api,
      bedrockDialect({ ...access, ...aws }),
      'us.anthropic.claude-sonnet-4-5-v1:0',
      'amazon.nova-pro-v1:0',
    );
  return models(api, openaiDialect, ...(modelsOf[api] ?? ['m']));
});

function models(api: Api, dialect: Dialect, ...names: readonly string[]): readonly Target[] {
  return names.map((model) => ({ api, dialect, model }));
}

/** What one run of the law has sent. */
export interface Sent {
  accepted: number;
  leftOut: number;
}

/**
 * The law: for every conversation and every API the request is one that the API accepts, or the
 * candidate is left out before anything is sent; what was said is in the request, or among its
 * changes.
 */
export async function checkLaw(numRuns: number, seed: number): Promise<Sent> {
  const sent: Sent = { accepted: 0, leftOut: 0 };
  await fc.assert(
    fc.asyncProperty(conversation, fc.nat(destinations.length - 1), async (body, at) => {
      const to = destinations[at] as Target;
      const fault = await faultOf(body, to, sent);
      if (fault !== null) throw new Error(`${to.api}, ${to.model}: ${fault.reason}\n${fault.sent}`);
    }),
    { numRuns, seed },
  );
  return sent;
}

/** What is wrong with the request of a conversation; null when its API accepts all of it. */
export async function faultOf(
  body: object,
  to: Target,
  sent: Sent,
): Promise<{ readonly reason: string; readonly sent: string } | null> {
  const request = parseCompletionRequest('chat', Buffer.from(JSON.stringify(body)), null);
  try {
    const codec = await to.dialect.encode(request, destinationOf(to));
    const text = codec.request.body;
    const reason = judge(to.api, text);
    if (reason !== null) return { reason, sent: text };
    const kept = markersOf(text);
    const lost = [...markersOf(body)].filter((marker) => !kept.has(marker));
    const isNoted = codec.changes.some(({ parameter }) => parameter.startsWith('messages'));
    if (lost.length > 0 && !isNoted) return { reason: 'lost in silence', sent: text };
    sent.accepted += 1;
  } catch (error) {
    if (!(error instanceof UnsupportedRequest)) throw error;
    sent.leftOut += 1;
  }
  return null;
}

function destinationOf({ api, model, dialect }: Target): Parameters<Dialect['encode']>[1] {
  return {
    model,
    modelId: 'test/model',
    variant: dialect === openaiDialect ? (api as Variant) : 'generic',
    overrides: {},
    supportedParameters: null,
    maxCompletionTokens: null,
    price: {},
  };
}
