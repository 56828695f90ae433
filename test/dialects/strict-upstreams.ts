import { isDeepStrictEqual } from 'node:util';
import type { Variant } from '../../src/config/variants.ts';

/*
 * What APIs of the OpenAI dialect reject, written from their documentation and their errors,
 * independently of the gateway's rules: each is as strict as the real one.
 */

type Json = Readonly<Record<string, unknown>>;

/** Why a body is rejected, as the API words it; null when it is accepted. */
type Refusal = (body: Json) => string | null;

/** One model of one API. */
export interface StrictUpstream {
  readonly variant: Variant;
  /** Its name there, and its id in the catalogue when only that identifies it. */
  readonly model: string;
  readonly id?: string;
  readonly status: number;
  readonly refuses: Refusal;
  /** Parameters that are accepted and have no effect. */
  readonly ignores: (name: string) => boolean;
  /** The member from which it reads the maximum completion. */
  readonly limit: 'max_tokens' | 'max_completion_tokens';
  /** The field in which it requires reasoning with every tool call; null: none. */
  readonly reasoning: 'reasoning_content' | 'reasoning' | 'thinking' | null;
}

function all(...refusals: readonly Refusal[]): Refusal {
  return (body) => refusals.map((refusal) => refusal(body)).find((words) => words !== null) ?? null;
}

function onlyKnows(names: string, words: (name: string) => string): Refusal {
  const known = new Set(['model', 'messages', 'stream', ...names.split(' ')]);
  return (body) => {
    const unknown = Object.keys(body).find((name) => !known.has(name));
    return unknown === undefined ? null : words(unknown);
  };
}

/** Rejects parameters that have another value than one of these. */
function only(values: Readonly<Record<string, readonly unknown[]>>): Refusal {
  return (body) => {
    const wrong = Object.entries(values).find(
      ([name, taken]) => body[name] !== undefined && !taken.some((one) => isDeepStrictEqual(one, body[name])),
    );
    return wrong === undefined ? null : `Unsupported value: '${wrong[0]}' with this model.`;
  };
}

function never(names: string): Refusal {
  return only(Object.fromEntries(names.split(' ').map((name) => [name, []])));
}

/** Members of messages that are known; `parts` and calls of tools have no others than their own. */
function onlyMessageMembers(names: string, words: (path: string) => string): Refusal {
  const known = new Set(['role', 'content', 'tool_calls', 'tool_call_id', ...names.split(' ')]);
  return ({ messages }) => {
    for (const [index, message] of (messages as readonly Json[]).entries()) {
      const unknown = Object.keys(message).find((name) => !known.has(name));
      if (unknown !== undefined) return words(`messages[${index}].${unknown}`);
      const calls = (message['tool_calls'] ?? []) as readonly Json[];
      if (calls.some((call) => 'index' in call)) return words(`messages[${index}].tool_calls[0].index`);
      const parts = Array.isArray(message['content']) ? (message['content'] as readonly Json[]) : [];
      if (parts.some((part) => 'cache_control' in part))
        return words(`messages[${index}].content[0].cache_control`);
    }
    return null;
  };
}

/** Rejects tool calls whose message lacks its reasoning. */
function wantsReasoning(message: string): Refusal {
  return ({ messages, thinking }) => {
    if ((thinking as Json | undefined)?.['type'] === 'disabled') return null;
    const lacking = (messages as readonly Json[]).some(
      (message) => Array.isArray(message['tool_calls']) && !message['reasoning_content'],
    );
    return lacking ? message : null;
  };
}

const plain =
  'temperature top_p stop response_format tools tool_choice frequency_penalty presence_penalty max_tokens max_completion_tokens';
const nothing = (): boolean => false;
const everything = (): boolean => true;

const openaiKnows = `${plain} audio logit_bias logprobs metadata modalities n parallel_tool_calls prediction prompt_cache_key prompt_cache_retention safety_identifier seed service_tier store stream_options top_logprobs user web_search_options`;
const openaiMessages = onlyMessageMembers('name refusal audio', (path) => `Unknown parameter: '${path}'.`);
const unrecognized = (name: string): string => `Unrecognized request argument supplied: ${name}`;
const fixed = { temperature: [1], top_p: [1], logprobs: [false] };
const noSampling = all(
  never('frequency_penalty presence_penalty logit_bias prediction'),
  never('max_tokens'),
);
const oneLimit: Refusal = (body) =>
  body['max_tokens'] !== undefined && body['max_completion_tokens'] !== undefined
    ? "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    : null;
const openaiModels: readonly Pick<StrictUpstream, 'model' | 'refuses'>[] = [
  { model: 'gpt-4o', refuses: all(onlyKnows(openaiKnows, unrecognized), openaiMessages, oneLimit) },
  {
    model: 'gpt-5-chat-latest',
    refuses: all(onlyKnows(openaiKnows, unrecognized), openaiMessages, never('max_tokens')),
  },
  ...['gpt-5', 'gpt-5-mini-2025-08-07'].map((model) => ({
    model,
    refuses: all(
      onlyKnows(`${openaiKnows} reasoning_effort verbosity`, unrecognized),
      openaiMessages,
      noSampling,
      never('top_logprobs stop'),
      only({ ...fixed, reasoning_effort: ['minimal', 'low', 'medium', 'high'] }),
    ),
  })),
  ...(
    [
      ['gpt-5.1', 'none low medium high'],
      ['gpt-5.5', 'none low medium high xhigh'],
    ] as const
  ).map(([model, efforts]) => ({
    model,
    refuses: all(
      onlyKnows(`${openaiKnows} reasoning_effort verbosity`, unrecognized),
      openaiMessages,
      noSampling,
      only({ reasoning_effort: efforts.split(' ') }),
      (body) =>
        body['reasoning_effort'] === 'none' ? null : all(only(fixed), never('top_logprobs stop'))(body),
    ),
  })),
  ...['o3', 'o4-mini'].map((model) => ({
    model,
    refuses: all(
      onlyKnows(`${openaiKnows} reasoning_effort`, unrecognized),
      openaiMessages,
      noSampling,
      never('top_logprobs stop parallel_tool_calls'),
      only({ ...fixed, reasoning_effort: ['low', 'medium', 'high'] }),
    ),
  })),
];
const asOpenai = {
  status: 400,
  ignores: nothing,
  limit: 'max_completion_tokens',
  reasoning: null,
} as const;

const asDeepseek = {
  variant: 'deepseek',
  status: 400,
  refuses: all(
    wantsReasoning('The `reasoning_content` in the thinking mode must be passed back to the API.'),
    ({ response_format: format }) =>
      (format as Json | undefined)?.['type'] === 'json_schema'
        ? 'This response_format type is unavailable now'
        : null,
    only({ reasoning_effort: ['low', 'high', 'max'] }),
    ({ thinking, tool_choice: choice }) =>
      choice === undefined ||
      choice === 'auto' ||
      choice === 'none' ||
      isDeepStrictEqual(thinking, { type: 'disabled' })
        ? null
        : 'Thinking mode does not support this tool_choice',
  ),
  ignores: everything,
  limit: 'max_tokens',
  reasoning: 'reasoning_content',
} as const;

const kimi = all(
  wantsReasoning('thinking is enabled but reasoning_content is missing in assistant tool call message'),
  ({ thinking, reasoning_effort: effort }) =>
    thinking !== undefined && effort !== undefined
      ? "cannot specify both 'thinking' and 'reasoning_effort'"
      : null,
  ({ max_tokens: limit }) => (limit === undefined ? null : 'max_tokens is deprecated'),
);
const kimiFixed = all(
  only({ temperature: [], top_p: [], n: [], presence_penalty: [], frequency_penalty: [] }),
  only({ tool_choice: ['auto', 'none'] }),
);
const asKimi = {
  variant: 'moonshot',
  status: 400,
  ignores: everything,
  limit: 'max_completion_tokens',
  reasoning: 'reasoning_content',
} as const;

const extraForbidden = (name: string): string =>
  JSON.stringify([{ type: 'extra_forbidden', loc: ['body', name], msg: 'Extra inputs are not permitted' }]);
const mistralKnows =
  'temperature top_p max_tokens stop random_seed response_format tools tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls prompt_mode safe_prompt metadata';
const mistralMessages = onlyMessageMembers('name prefix', extraForbidden);
const asMistral = {
  variant: 'mistral',
  status: 422,
  ignores: nothing,
  limit: 'max_tokens',
  reasoning: 'thinking',
} as const;

const xaiKnows = `${plain} logprobs top_logprobs n parallel_tool_calls seed stream_options user web_search_options search_parameters deferred reasoning_effort`;
const xaiThinks = never('presence_penalty frequency_penalty stop');
function grok(model: string, ...refusals: readonly Refusal[]): StrictUpstream {
  return {
    variant: 'xai',
    model,
    status: 400,
    refuses: all(
      onlyKnows(xaiKnows, (name) => `Argument not supported: ${name}`),
      ...refusals,
    ),
    ignores: nothing,
    limit: 'max_completion_tokens',
    reasoning: 'reasoning_content',
  };
}

const groqKnows =
  'temperature top_p stop response_format tools tool_choice frequency_penalty presence_penalty max_tokens max_completion_tokens seed n user parallel_tool_calls metadata stream_options service_tier store reasoning_effort include_reasoning reasoning_format';
const unsupported = (name: string): string => `property '${name}' is unsupported`;
function groq(model: string, members: string, efforts: readonly string[]): StrictUpstream {
  return {
    variant: 'groq',
    model,
    status: 400,
    refuses: all(
      onlyKnows(groqKnows, unsupported),
      onlyMessageMembers(members, unsupported),
      only({ n: [1], reasoning_effort: efforts }),
    ),
    // Not every model has them.
    ignores: (name) => ['service_tier', 'include_reasoning'].includes(name),
    limit: 'max_completion_tokens',
    reasoning: members === '' ? null : 'reasoning',
  };
}

function engine(variant: Variant, refuses: Refusal, more: Partial<StrictUpstream> = {}): StrictUpstream {
  return {
    variant,
    model: 'qwen3-8b',
    status: 400,
    refuses,
    ignores: everything,
    limit: 'max_tokens',
    reasoning: 'reasoning_content',
    ...more,
  };
}

const pydantic = all(
  (body) => (typeof body['structured_outputs'] === 'boolean' ? 'Input should be a valid dictionary' : null),
  (body) => (body['chat_template_kwargs'] === null ? 'Input should be a valid dictionary' : null),
  only({ reasoning_effort: ['low', 'medium', 'high'] }),
);
const toolChoiceIsWord: Refusal = ({ tool_choice: choice }) =>
  choice === undefined || typeof choice === 'string'
    ? null
    : "Invalid tool_choice type: 'object'. Supported string values: none, auto, required";

/** Every API with the models of it that differ. */
export const strictUpstreams: readonly StrictUpstream[] = [
  ...openaiModels.map((row) => ({ ...asOpenai, variant: 'openai' as const, ...row })),
  // A deployment has any name: its model is in the catalogue.
  ...openaiModels.map(({ model, refuses }, at) => ({
    ...asOpenai,
    variant: 'azure' as const,
    model: `deployment-${at}`,
    id: `openai/${model}`,
    refuses,
  })),
  { ...asDeepseek, model: 'deepseek-chat' },
  {
    ...asDeepseek,
    model: 'deepseek-reasoner',
    refuses: all(asDeepseek.refuses, only({ tool_choice: ['auto', 'none'] })),
  },
  { ...asKimi, model: 'moonshot-v1-32k', refuses: all(kimi, never('thinking reasoning_effort')) },
  { ...asKimi, model: 'kimi-k2.6', refuses: all(kimi, kimiFixed, never('reasoning_effort')) },
  { ...asKimi, model: 'kimi-k2.7-code', refuses: all(kimi, kimiFixed, never('thinking reasoning_effort')) },
  {
    ...asKimi,
    model: 'kimi-k3',
    refuses: all(kimi, kimiFixed, never('thinking'), only({ reasoning_effort: ['low', 'high', 'max'] })),
  },
  {
    ...asMistral,
    model: 'mistral-large-latest',
    refuses: all(onlyKnows(mistralKnows, extraForbidden), mistralMessages),
  },
  {
    ...asMistral,
    model: 'mistral-small-latest',
    refuses: all(
      onlyKnows(`${mistralKnows} reasoning_effort`, extraForbidden),
      mistralMessages,
      only({ reasoning_effort: ['none', 'high'] }),
    ),
  },
  grok('grok-4-0709', xaiThinks, never('reasoning_effort')),
  grok('grok-code-fast-1', xaiThinks, never('reasoning_effort')),
  grok('grok-4.20-non-reasoning', never('reasoning_effort')),
  grok('grok-3-mini', xaiThinks, only({ reasoning_effort: ['low', 'high'] })),
  grok('grok-4.3', xaiThinks, only({ reasoning_effort: ['none', 'low', 'medium', 'high'] })),
  grok('grok-4.5', xaiThinks, only({ reasoning_effort: ['low', 'medium', 'high'] })),
  groq('llama-3.3-70b-versatile', '', []),
  groq('openai/gpt-oss-120b', 'reasoning', ['low', 'medium', 'high']),
  groq('qwen/qwen3-32b', 'reasoning', ['none', 'default']),
  {
    variant: 'together',
    model: 'Qwen/Qwen3-235B-A22B',
    status: 422,
    refuses: all(
      onlyKnows(
        `${plain} top_k min_p repetition_penalty logit_bias n seed logprobs echo stream_options reasoning reasoning_effort chat_template_kwargs`.replace(
          ' max_completion_tokens',
          '',
        ),
        (name) => `Extra inputs are not permitted: ${name}`,
      ),
      ({ logprobs }) =>
        logprobs === undefined || Number.isInteger(logprobs) ? null : 'Input should be a valid integer',
      only({ reasoning: [{ enabled: true }, { enabled: false }] }),
      only({ reasoning_effort: ['low', 'medium', 'high'] }),
    ),
    ignores: nothing,
    limit: 'max_tokens',
    reasoning: 'reasoning_content',
  },
  {
    variant: 'fireworks',
    model: 'accounts/fireworks/models/deepseek-v3p1',
    status: 400,
    refuses: all(
      onlyKnows(
        `${plain} top_k min_p typical_p repetition_penalty n seed logprobs top_logprobs echo user logit_bias parallel_tool_calls prediction metadata prompt_cache_key reasoning_effort reasoning_history stream_options`,
        (name) => `Extra inputs are not permitted, field: '${name}'`,
      ),
      oneLimit,
      onlyMessageMembers(
        'name reasoning_content',
        (path) => `Extra inputs are not permitted, field: '${path}'`,
      ),
      only({ reasoning_effort: ['none', 'low', 'medium', 'high'] }),
    ),
    ignores: nothing,
    limit: 'max_tokens',
    reasoning: 'reasoning_content',
  },
  {
    variant: 'openrouter',
    model: 'openai/gpt-5',
    status: 400,
    refuses: () => null,
    ignores: everything,
    limit: 'max_completion_tokens',
    reasoning: 'reasoning',
  },
  engine('vllm', pydantic, { reasoning: 'reasoning' }),
  engine('sglang', pydantic),
  engine('llama-server', toolChoiceIsWord),
  engine('ollama', only({ reasoning_effort: ['none', 'low', 'medium', 'high'] }), { reasoning: 'reasoning' }),
  engine(
    'lm-studio',
    all(
      toolChoiceIsWord,
      only({ reasoning_effort: ['low', 'medium', 'high'] }),
      ({ response_format: format }) =>
        (format as Json | undefined)?.['type'] === 'json_object'
          ? "'response_format.type' must be 'json_schema' or 'text'"
          : null,
    ),
  ),
  engine(
    'transformers',
    onlyKnows(
      `${openaiKnows} functions function_call reasoning_effort verbosity generation_config chat_template_kwargs`,
      (name) => `Unexpected fields in the request: {'${name}'}`,
    ),
    { status: 422, reasoning: null },
  ),
];
