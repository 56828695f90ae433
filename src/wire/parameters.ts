/** A rule for the value of one parameter: what is wrong with it, or null. */
type Rule = (value: unknown) => string | null;

const number =
  (least: number, most: number): Rule =>
  (value) =>
    typeof value === 'number' && value >= least && value <= most
      ? null
      : `must be a number from ${least} to ${most}`;
const integer =
  (least: number, most = Number.MAX_SAFE_INTEGER): Rule =>
  (value) => {
    if (Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most) return null;
    return most === Number.MAX_SAFE_INTEGER
      ? `must be an integer of at least ${least}`
      : `must be an integer from ${least} to ${most}`;
  };
const boolean: Rule = (value) => (typeof value === 'boolean' ? null : 'must be a boolean');
const string: Rule = (value) => (typeof value === 'string' ? null : 'must be a string');
const object: Rule = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? null : 'must be an object';
const array: Rule = (value) => (Array.isArray(value) ? null : 'must be an array');
const oneOf =
  (...values: readonly string[]): Rule =>
  (value) =>
    typeof value === 'string' && values.includes(value) ? null : `must be one of ${values.join(', ')}`;
const either =
  (...rules: readonly Rule[]): Rule =>
  (value) =>
    rules.some((rule) => rule(value) === null) ? null : rules.map((rule) => rule(value)).join(' or ');
const stops: Rule = either(string, (value) =>
  Array.isArray(value) && value.every((stop) => typeof stop === 'string')
    ? null
    : 'must be an array of strings',
);
const efforts = oneOf('max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none');

/** Parameters that both endpoints take. */
const shared: Readonly<Record<string, Rule>> = {
  max_tokens: integer(1),
  temperature: number(0, 2),
  top_p: number(0, 1),
  top_k: integer(0),
  min_p: number(0, 1),
  top_a: number(0, 1),
  frequency_penalty: number(-2, 2),
  presence_penalty: number(-2, 2),
  repetition_penalty: number(0, 2),
  seed: integer(Number.MIN_SAFE_INTEGER),
  stop: stops,
  logit_bias: object,
  n: integer(1, 128),
  user: string,
  response_format: object,
  reasoning: object,
  include_reasoning: boolean,
};

/** Every parameter that is known, by endpoint, with its rule: these are checked and passed on, all others are dropped. */
export const parametersOf: Readonly<Record<'chat' | 'text', Readonly<Record<string, Rule>>>> = {
  chat: {
    ...shared,
    max_completion_tokens: integer(1),
    logprobs: boolean,
    top_logprobs: integer(0, 20),
    tools: array,
    tool_choice: either(string, object),
    parallel_tool_calls: boolean,
    structured_outputs: boolean,
    reasoning_effort: efforts,
    thinking: object,
    enable_thinking: boolean,
    chat_template_kwargs: object,
    verbosity: oneOf('low', 'medium', 'high', 'xhigh', 'max'),
    prediction: object,
    modalities: array,
    image_config: object,
    audio: object,
    web_search_options: object,
    metadata: object,
    cache_control: object,
    prompt_cache_key: string,
    prompt_cache_options: object,
    service_tier: string,
  },
  text: { ...shared, logprobs: integer(0, 20), suffix: string, echo: boolean, best_of: integer(1, 20) },
};
