import type { CompletionRequest } from '../../wire/chat.ts';
import { hasTier } from '../conversation/dearer-services.ts';
import type { Destination } from '../dialect.ts';
import { UnsupportedRequest } from '../dialect.ts';
import { knownParameters } from '../known-parameters.ts';
import type { ReasoningOptions } from '../reasoning.ts';
import type { SupportedUrls } from './media.ts';
import { writePrompt } from './prompt.ts';
import { cacheControlOf, type ProviderQuirks } from './provider-quirks.ts';
import type { CallOptions } from './types.ts';

type Json = Readonly<Record<string, unknown>>;

/** How a request is encoded. */
export interface CallFor {
  readonly quirks: ProviderQuirks;
  readonly to: Destination;
  readonly urls: SupportedUrls;
  readonly reasoning: ReasoningOptions;
  /**
   * The maximum of completion tokens; null leaves it to the package, which knows the limits of its
   * models.
   */
  readonly maxTokens: number | null;
}

/**
 * Our request as a call of the packages. Parameters that they do not support are omitted, as for
 * every upstream; throws `UnsupportedRequest` for `n` above 1 and for what `writePrompt` cannot
 * express.
 */
export function writeCall(
  request: CompletionRequest,
  { quirks, to, urls, reasoning, maxTokens }: CallFor,
): CallOptions {
  if (request.choices > 1) throw new UnsupportedRequest('several choices');
  const stated = knownParameters(request.parameters, to);
  const { effort } = reasoning;
  return withoutUndefined({
    prompt: writePrompt(request, { quirks, model: to.model, urls }),
    maxOutputTokens: maxTokens ?? undefined,
    temperature: stated['temperature'],
    topP: stated['top_p'],
    topK: stated['top_k'],
    presencePenalty: stated['presence_penalty'],
    frequencyPenalty: stated['frequency_penalty'],
    seed: stated['seed'],
    stopSequences: typeof stated['stop'] === 'string' ? [stated['stop']] : stated['stop'],
    responseFormat: responseFormat(stated['response_format']),
    tools: Array.isArray(stated['tools'])
      ? stated['tools'].map((tool) => functionTool(tool, quirks))
      : undefined,
    toolChoice: toolChoice(stated['tool_choice']),
    reasoning: effort ?? undefined,
    providerOptions: quirks.call({
      reasoning,
      parallelToolCalls:
        typeof stated['parallel_tool_calls'] === 'boolean' ? stated['parallel_tool_calls'] : null,
      cacheControl: cacheControlOf(stated['cache_control']),
      user: typeof stated['user'] === 'string' ? stated['user'] : null,
      serviceTier: tierOf(stated['service_tier'], quirks, to),
    }),
  });
}

/** A tier is requested where its price is known: not every model of these APIs has one. */
function tierOf(tier: unknown, { tiers }: ProviderQuirks, { price }: Destination): string | null {
  return hasTier(price, tier) ? (tiers[tier] ?? null) : null;
}

function responseFormat(format: unknown): unknown {
  const { type, json_schema: wanted } = (format ?? {}) as Json;
  if (type === 'json_object') return { type: 'json' };
  if (type !== 'json_schema') return undefined;
  const { schema, name, description } = (wanted ?? {}) as Json;
  return withoutUndefined({ type: 'json', schema, name, description });
}

function functionTool(tool: unknown, quirks: ProviderQuirks): unknown {
  const { type, function: declared, cache_control: breakpoint } = (tool ?? {}) as Json;
  const { name, description, parameters, strict } = (declared ?? {}) as Json;
  if (type !== 'function' || typeof name !== 'string')
    throw new UnsupportedRequest('a tool that is not a function');
  const control = cacheControlOf(breakpoint);
  return withoutUndefined({
    type: 'function',
    name,
    description,
    inputSchema: parameters ?? { type: 'object', properties: {} },
    strict: strict === true ? true : undefined,
    providerOptions: control === null ? undefined : quirks.cached(control),
  });
}

function toolChoice(choice: unknown): unknown {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice };
  const { function: named } = (choice ?? {}) as Json;
  const name = ((named ?? {}) as Json)['name'];
  return typeof name === 'string' ? { type: 'tool', toolName: name } : undefined;
}

/** The packages validate their input, so undefined members are omitted here. */
function withoutUndefined<T>(members: Json): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}
