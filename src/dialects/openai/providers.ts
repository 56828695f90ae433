import { providerVariants, type Variant } from '../../config/variants.ts';
import {
  deepseekMessages,
  fireworksMessages,
  groqMessages,
  type MessageRules,
  mistralMessages,
  openaiMessages,
  openaiNames,
  openMessages,
  togetherMessages,
  transformersMessages,
} from '../conversation/rules.ts';
import type { Effort } from '../reasoning.ts';
import type { ReasoningRules } from './reasoning.ts';

/*
 * What the APIs of this dialect accept, according to their public documentation. docs/providers.md
 * shows this table; a test compares the two and sends requests to an upstream as strict as each
 * API.
 */

/**
 * How a request states the amount of reasoning. Levels are ours, each with the API's name for it;
 * the nearest supported level is sent.
 */
export type ThinkingRules =
  /** As received. */
  | { readonly as: 'given' }
  /** Never: its parameters are rejected. */
  | { readonly as: 'none' }
  /** `reasoning_effort`. */
  | { readonly as: 'effort'; readonly efforts: Efforts }
  /** `thinking: { type }`, and `reasoning_effort` where there are levels. */
  | { readonly as: 'thinking'; readonly efforts: Efforts }
  /** `reasoning: { enabled }`, and `reasoning_effort`. */
  | { readonly as: 'reasoning'; readonly efforts: Efforts }
  /**
   * `chat_template_kwargs`, which the engine passes to the model's template, and
   * `reasoning_effort`.
   */
  | { readonly as: 'template'; readonly efforts: Efforts };

export type Efforts = Readonly<Partial<Record<Effort, string>>>;

/** What is sent of a request to an API, and how. */
export interface ParameterRules {
  /**
   * Parameters that it accepts, by its own names; null: all known ones, or it ignores unknown ones.
   */
  readonly accepts: readonly string[] | null;
  /** Parameters that it rejects or misinterprets although it accepts unknown ones. */
  readonly refuses: readonly string[];
  /** Its one name for the completion limit; null: it accepts both. */
  readonly limit: 'max_tokens' | 'max_completion_tokens' | null;
  /** Our name of a parameter, and its name. */
  readonly renames: Readonly<Record<string, string>>;
  /** The only values that it accepts of a parameter; others are omitted. */
  readonly only: Readonly<Record<string, readonly unknown[]>>;
  /** Whether `only` applies to reasoning only, and not to a request with the effort `none`. */
  readonly freeWithoutThinking: boolean;
  /** Values that it needs in another form. */
  readonly converts: Readonly<Record<string, Conversion>>;
  readonly thinking: ThinkingRules;
  /** Whether a model may think when a tool is forced; elsewhere it does not think then. */
  readonly thinksBesideForcedTool: boolean;
  readonly reasoning: ReasoningRules;
}

/**
 * `json_schema`: plain JSON is omitted. `word`: a named tool becomes `required`. `count`: `logprobs`
 * is a number. `list`: a single value becomes a list of one.
 */
export type Conversion = 'json_schema' | 'word' | 'count' | 'list';

/** Models of an API with other rules than the rest. */
export interface FamilyRules extends Partial<ParameterRules> {
  readonly messages?: MessageRules;
  /** The display name. */
  readonly name: string;
  readonly models: RegExp;
  /** Added to what the API accepts. */
  readonly alsoAccepts?: readonly string[];
}

/** One API. */
export interface ProviderRules extends ParameterRules {
  /** The display name. */
  readonly name: string;
  /** The URL of its documentation. */
  readonly documentation: string;
  /** Its hosts: a base URL on one of them, or on a subdomain, belongs to this API. */
  readonly hosts: readonly string[];
  /** What it requires of messages and tools. */
  readonly messages: MessageRules;
  /** Whether its usage of several choices is that of the first one. */
  readonly claimsFirstChoice: boolean;
  /** Whether `stream_options` is sent; an API without it reports usage anyway. */
  readonly streamOptions: boolean;
  /** Whether a response has the stop sequence that ended it. */
  readonly returnsStop: boolean;
  /** The first one that matches a model applies. */
  readonly families: readonly FamilyRules[];
}

const noReasoning: ReasoningRules = { fields: [], details: 'none' };
const bothFields: ReasoningRules = { fields: ['reasoning_content', 'reasoning'], details: 'none' };
const base: Omit<ProviderRules, 'name' | 'documentation'> = {
  hosts: [],
  accepts: null,
  refuses: [],
  limit: null,
  renames: {},
  only: {},
  freeWithoutThinking: false,
  converts: {},
  thinking: { as: 'given' },
  thinksBesideForcedTool: true,
  reasoning: { ...bothFields, details: 'beyond text' },
  messages: openMessages,
  claimsFirstChoice: false,
  streamOptions: true,
  returnsStop: false,
  families: [],
};

const common = ['temperature', 'top_p', 'stop', 'response_format', 'tools', 'tool_choice'];
const penalties = ['frequency_penalty', 'presence_penalty'];
const limits = ['max_tokens', 'max_completion_tokens'];
/** Moonshot: its errors about names. */
const moonshotMessages: MessageRules = {
  ...openMessages,
  names: { pattern: /^[a-zA-Z_][a-zA-Z0-9_-]*$/, maxLength: 63 },
};
/** An API about whose messages nothing but the names of tools is known. */
const named: MessageRules = { ...openMessages, names: openaiNames };
const threeLevels: Efforts = { low: 'low', medium: 'medium', high: 'high' };

/** Sampling parameters that reasoning models fix. */
const fixedSampling = { temperature: [1], top_p: [1], logprobs: [false], top_logprobs: [], stop: [] };
const openaiFamilies: readonly FamilyRules[] = [
  { name: 'gpt-5 chat', models: /(^|\/)gpt-5(\.\d+)?-chat/ },
  {
    name: 'gpt-5.1',
    models: /(^|\/)gpt-5\.1(?!\d)/,
    alsoAccepts: ['reasoning_effort', 'verbosity'],
    refuses: [...penalties, 'logit_bias', 'prediction'],
    only: fixedSampling,
    freeWithoutThinking: true,
    thinking: { as: 'effort', efforts: { none: 'none', ...threeLevels } },
  },
  {
    name: 'gpt-5.2 and later',
    models: /(^|\/)gpt-(5\.([2-9]|1\d)|[6-9])/,
    alsoAccepts: ['reasoning_effort', 'verbosity'],
    refuses: [...penalties, 'logit_bias', 'prediction'],
    only: fixedSampling,
    freeWithoutThinking: true,
    thinking: { as: 'effort', efforts: { none: 'none', ...threeLevels, xhigh: 'xhigh' } },
  },
  {
    name: 'gpt-5',
    models: /(^|\/)gpt-5/,
    alsoAccepts: ['reasoning_effort', 'verbosity'],
    refuses: [...penalties, 'logit_bias', 'prediction'],
    only: fixedSampling,
    thinking: { as: 'effort', efforts: { minimal: 'minimal', ...threeLevels } },
  },
  {
    name: 'o-series',
    models: /(^|\/)o[1-9]\d*(-|$)/,
    alsoAccepts: ['reasoning_effort'],
    refuses: [...penalties, 'logit_bias', 'prediction', 'parallel_tool_calls'],
    only: fixedSampling,
    thinking: { as: 'effort', efforts: threeLevels },
  },
];
const openai: Omit<ProviderRules, 'name' | 'documentation' | 'hosts'> = {
  ...base,
  accepts: [
    ...[...common, ...penalties, ...limits, 'seed', 'logit_bias', 'logprobs', 'top_logprobs', 'n', 'user'],
    ...['parallel_tool_calls', 'metadata', 'prediction', 'prompt_cache_key'],
    ...['service_tier', 'web_search_options'],
  ],
  // The newer name, which every model accepts; both at once are rejected.
  limit: 'max_completion_tokens',
  thinking: { as: 'none' },
  reasoning: noReasoning,
  messages: openaiMessages,
  families: openaiFamilies,
};
/**
 * Engines that pass `chat_template_kwargs` to the model's template and ignore unknown parameters.
 */
const engine: Omit<ProviderRules, 'name' | 'documentation'> = {
  ...base,
  refuses: ['structured_outputs'],
  limit: 'max_tokens',
  thinking: { as: 'template', efforts: threeLevels },
  messages: named,
};

/**
 * The known APIs, by their names in naru.yaml. `generic` is any other API, `engine` any other slot.
 */
export const providers: Readonly<Record<Variant, ProviderRules>> = {
  generic: { ...base, name: 'Any other', documentation: '' },
  engine: { ...engine, name: 'Any other slot', documentation: '', claimsFirstChoice: true },
  openai: {
    ...openai,
    name: 'OpenAI',
    documentation: 'https://platform.openai.com/docs/api-reference/chat/create',
    hosts: ['api.openai.com'],
  },
  azure: {
    ...openai,
    name: 'Azure OpenAI',
    documentation: 'https://learn.microsoft.com/azure/ai-foundry/openai/how-to/reasoning',
    hosts: ['openai.azure.com', 'services.ai.azure.com', 'cognitiveservices.azure.com'],
  },
  deepseek: {
    ...base,
    name: 'DeepSeek',
    documentation: 'https://api-docs.deepseek.com/guides/thinking_mode',
    hosts: ['api.deepseek.com'],
    accepts: [
      ...[...common, ...penalties, 'max_tokens', 'logprobs', 'top_logprobs', 'thinking', 'reasoning_effort'],
    ],
    limit: 'max_tokens',
    thinking: {
      as: 'thinking',
      efforts: { low: 'low', medium: 'high', high: 'high', xhigh: 'high', max: 'max' },
    },
    reasoning: { fields: ['reasoning_content'], details: 'none', placeholder: ' ' },
    messages: deepseekMessages,
    thinksBesideForcedTool: false,
    families: [
      { name: 'deepseek-reasoner', models: /reasoner/, messages: { ...deepseekMessages, forcesTool: false } },
    ],
  },
  moonshot: {
    ...base,
    name: 'Moonshot (Kimi)',
    documentation: 'https://platform.kimi.ai/docs/api/models-overview',
    hosts: ['api.moonshot.ai', 'api.moonshot.cn', 'api.kimi.com'],
    accepts: [...common, ...penalties, 'max_completion_tokens', 'n', 'prompt_cache_key'],
    limit: 'max_completion_tokens',
    thinking: { as: 'none' },
    reasoning: { fields: ['reasoning_content'], details: 'none', placeholder: ' ' },
    messages: moonshotMessages,
    families: [
      {
        name: 'kimi-k2.5 and kimi-k2.6',
        models: /kimi-k2\.[56]/,
        alsoAccepts: ['thinking'],
        refuses: [...penalties, 'temperature', 'top_p', 'n'],
        messages: { ...moonshotMessages, forcesTool: false },
        thinking: { as: 'thinking', efforts: {} },
      },
      {
        name: 'other thinking models of kimi-k2',
        models: /kimi-k2(\.\d|-thinking)/,
        refuses: [...penalties, 'temperature', 'top_p', 'n'],
        messages: { ...moonshotMessages, forcesTool: false },
      },
      {
        name: 'kimi-k3 and later',
        models: /kimi-k[3-9]/,
        alsoAccepts: ['reasoning_effort'],
        refuses: [...penalties, 'temperature', 'top_p', 'n'],
        messages: { ...moonshotMessages, forcesTool: false },
        thinking: { as: 'effort', efforts: { low: 'low', high: 'high', max: 'max' } },
      },
    ],
  },
  mistral: {
    ...base,
    name: 'Mistral',
    documentation: 'https://docs.mistral.ai/api/endpoint/chat',
    hosts: ['api.mistral.ai'],
    accepts: [
      ...[...common, ...penalties, 'max_tokens', 'random_seed', 'n', 'prediction', 'parallel_tool_calls'],
      'metadata',
    ],
    limit: 'max_tokens',
    renames: { seed: 'random_seed' },
    thinking: { as: 'none' },
    reasoning: { fields: [], details: 'none', asPart: true },
    messages: mistralMessages,
    streamOptions: false,
    families: [
      {
        name: 'mistral-small and mistral-medium',
        models: /mistral-(small|medium)/,
        alsoAccepts: ['reasoning_effort'],
        thinking: { as: 'effort', efforts: { none: 'none', high: 'high' } },
      },
    ],
  },
  xai: {
    ...base,
    name: 'xAI',
    documentation: 'https://docs.x.ai/docs/guides/reasoning',
    hosts: ['api.x.ai'],
    accepts: [
      ...[...common, ...penalties, ...limits, 'seed', 'logprobs', 'top_logprobs', 'n', 'user'],
      ...['parallel_tool_calls', 'web_search_options'],
    ],
    limit: 'max_completion_tokens',
    thinking: { as: 'none' },
    reasoning: { fields: ['reasoning_content'], details: 'none' },
    messages: named,
    families: [
      { name: 'grok without reasoning', models: /non-reasoning|grok-2|grok-3(?!-mini)/ },
      {
        name: 'grok-3-mini',
        models: /grok-3-mini/,
        alsoAccepts: ['reasoning_effort'],
        refuses: [...penalties, 'stop'],
        thinking: { as: 'effort', efforts: { low: 'low', high: 'high' } },
      },
      {
        name: 'grok-4.3',
        models: /grok-4\.3/,
        alsoAccepts: ['reasoning_effort'],
        refuses: [...penalties, 'stop'],
        thinking: { as: 'effort', efforts: { none: 'none', ...threeLevels } },
      },
      {
        name: 'grok-4.5 and later',
        models: /grok-(4\.[4-9](?!\d)|[5-9])/,
        alsoAccepts: ['reasoning_effort'],
        refuses: [...penalties, 'stop'],
        thinking: { as: 'effort', efforts: threeLevels },
      },
      { name: 'other grok models', models: /grok/, refuses: [...penalties, 'stop'] },
    ],
  },
  groq: {
    ...base,
    name: 'Groq',
    documentation: 'https://console.groq.com/docs/openai',
    hosts: ['api.groq.com'],
    accepts: [
      ...[...common, ...penalties, ...limits, 'seed', 'n', 'user', 'parallel_tool_calls', 'metadata'],
    ],
    limit: 'max_completion_tokens',
    only: { n: [1] },
    thinking: { as: 'none' },
    reasoning: noReasoning,
    messages: groqMessages,
    families: [
      {
        name: 'gpt-oss',
        models: /gpt-oss/,
        alsoAccepts: ['reasoning_effort'],
        thinking: { as: 'effort', efforts: threeLevels },
        reasoning: { fields: ['reasoning'], details: 'none' },
      },
      {
        name: 'qwen3',
        models: /qwen-?3/,
        alsoAccepts: ['reasoning_effort'],
        thinking: { as: 'effort', efforts: { none: 'none', medium: 'default' } },
        reasoning: { fields: ['reasoning'], details: 'none' },
      },
    ],
  },
  together: {
    ...base,
    name: 'Together',
    documentation: 'https://docs.together.ai/reference/chat-completions-1',
    hosts: ['api.together.xyz', 'api.together.ai'],
    accepts: [
      ...[...common, ...penalties, 'max_tokens', 'top_k', 'min_p', 'repetition_penalty', 'logit_bias', 'n'],
      ...['seed', 'logprobs', 'reasoning', 'reasoning_effort', 'chat_template_kwargs'],
    ],
    limit: 'max_tokens',
    converts: { logprobs: 'count', stop: 'list', tool_choice: 'word' },
    thinking: { as: 'reasoning', efforts: threeLevels },
    reasoning: bothFields,
    messages: togetherMessages,
  },
  fireworks: {
    ...base,
    name: 'Fireworks',
    documentation: 'https://docs.fireworks.ai/api-reference/post-chatcompletions',
    hosts: ['api.fireworks.ai'],
    accepts: [
      ...[...common, ...penalties, ...limits, 'top_k', 'min_p', 'repetition_penalty', 'logit_bias', 'n'],
      ...['seed', 'logprobs', 'top_logprobs', 'user', 'parallel_tool_calls', 'prediction', 'metadata'],
      ...['prompt_cache_key', 'reasoning_effort'],
    ],
    limit: 'max_tokens',
    thinking: { as: 'effort', efforts: { none: 'none', ...threeLevels } },
    reasoning: { fields: ['reasoning_content'], details: 'none' },
    messages: fireworksMessages,
  },
  openrouter: {
    ...base,
    name: 'OpenRouter',
    documentation: 'https://openrouter.ai/docs/api_reference/parameters',
    hosts: ['openrouter.ai'],
    reasoning: { fields: ['reasoning'], details: 'all' },
    messages: { ...openMessages, developer: true },
  },
  vllm: {
    ...engine,
    name: 'vLLM',
    documentation: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html',
  },
  sglang: {
    ...engine,
    name: 'SGLang',
    documentation: 'https://docs.sglang.ai/basic_usage/openai_api_completions.html',
  },
  'llama-server': {
    ...engine,
    name: 'llama-server',
    documentation: 'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md',
    renames: { repetition_penalty: 'repeat_penalty' },
    converts: { tool_choice: 'word' },
    reasoning: { fields: ['reasoning_content'], details: 'none' },
    claimsFirstChoice: true,
  },
  ollama: {
    ...base,
    name: 'Ollama',
    documentation: 'https://docs.ollama.com/api/openai-compatibility',
    accepts: [
      ...[...common, ...penalties, 'max_tokens', 'seed', 'logprobs', 'top_logprobs', 'reasoning_effort'],
    ],
    limit: 'max_tokens',
    thinking: { as: 'effort', efforts: { none: 'none', ...threeLevels } },
    reasoning: { fields: ['reasoning'], details: 'none' },
  },
  'lm-studio': {
    ...base,
    name: 'LM Studio',
    documentation: 'https://lmstudio.ai/docs/developer/openai-compat/chat-completions',
    accepts: [
      ...[...common, ...penalties, 'max_tokens', 'top_k', 'seed', 'logit_bias', 'repeat_penalty'],
      'reasoning_effort',
    ],
    limit: 'max_tokens',
    renames: { repetition_penalty: 'repeat_penalty' },
    converts: { tool_choice: 'word', response_format: 'json_schema' },
    thinking: { as: 'effort', efforts: threeLevels },
    reasoning: bothFields,
  },
  transformers: {
    ...base,
    name: 'transformers serve',
    documentation: 'https://huggingface.co/docs/transformers/main/en/serving',
    // It ignores the last two and others of OpenAI's, and rejects those that OpenAI lacks.
    accepts: [
      ...['temperature', 'top_p', 'stop', 'tools', 'max_tokens', 'frequency_penalty', 'logit_bias', 'seed'],
      ...['response_format', 'tool_choice'],
    ],
    limit: 'max_tokens',
    thinking: { as: 'template', efforts: {} },
    reasoning: noReasoning,
    messages: transformersMessages,
    streamOptions: false,
    returnsStop: true,
  },
};

/** The rules of an API by its name. */
export function rulesOf(variant: Variant): ProviderRules {
  return providers[variant];
}

/** The API of a base URL, by its host. */
export function variantOfUrl(baseUrl: string): Variant {
  const { hostname } = new URL(baseUrl);
  const isOf = (variant: Variant): boolean =>
    rulesOf(variant).hosts.some((host) => hostname === host || hostname.endsWith(`.${host}`));
  return providerVariants.find(isOf) ?? 'generic';
}

/**
 * The rules of an API for one model, identified by its upstream name or its id in the catalogue.
 */
export function rulesForModel(rules: ProviderRules, names: readonly string[]): ProviderRules {
  if (rules.families.length === 0) return rules;
  const fitting = names
    .map((name) => rules.families.find(({ models }) => models.test(name.toLowerCase())))
    .find((family) => family !== undefined);
  if (fitting === undefined) return rules;
  const { alsoAccepts = [], ...family } = fitting;
  return { ...rules, ...family, accepts: rules.accepts === null ? null : [...rules.accepts, ...alsoAccepts] };
}
