import { type Bilingual, requirements } from '../errors/messages.ts';
import { isObject } from './json-object.ts';
import { maxima } from './maxima.ts';

/**
 * A rule for the value of one parameter: what the value must be when it is not that; null when it
 * is valid.
 */
type Rule = (value: unknown) => Bilingual | null;

const number = (min: number, max: number): Rule =>
  rule(requirements.number(min, max), (value) => typeof value === 'number' && value >= min && value <= max);
const integer = (min: number, max = Number.MAX_SAFE_INTEGER): Rule =>
  rule(
    max === Number.MAX_SAFE_INTEGER ? requirements.minInteger(min) : requirements.integer(min, max),
    (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
  );
const boolean = rule(requirements.boolean, (value) => typeof value === 'boolean');
const isWithin = (max: number) => (value: unknown) => !isString(value) || value.length <= max;
const within = (max: number): Rule => rule(requirements.maxLength(max), isWithin(max));
const string = (max: number): Rule => all(rule(requirements.string, isString), within(max));
const object = rule(requirements.object, isObject);
const members = (max: number): Rule =>
  all(
    object,
    rule(requirements.maxMembers(max), (value) => Object.keys(value as object).length <= max),
  );
const maxItems = (max: number): Rule =>
  rule(requirements.maxItems(max), (value) => !Array.isArray(value) || value.length <= max);
const array = (max: number): Rule => all(rule(requirements.array, Array.isArray), maxItems(max));
const stringOrObject = all(
  rule(requirements.stringOrObject, (value) => isString(value) || isObject(value)),
  within(maxima.name),
);
const stops = all(
  maxItems(maxima.stops),
  rule(
    requirements.stringOrStrings,
    (value) => isString(value) || (Array.isArray(value) && value.every(isString)),
  ),
  rule(requirements.maxLength(maxima.id), (value) =>
    (isString(value) ? [value] : (value as readonly string[])).every(isWithin(maxima.id)),
  ),
);
const oneOf = (...values: readonly string[]): Rule =>
  rule(requirements.oneOf(values), (value) => isString(value) && values.includes(value));
const efforts = oneOf('max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none');

/** The roles of a message; `function` precedes `tool`. */
export const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const;

/** Parameters of both endpoints. */
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
  logit_bias: members(maxima.logitBias),
  n: integer(1, 128),
  user: string(maxima.id),
  response_format: object,
  reasoning: object,
  include_reasoning: boolean,
};

/**
 * Every known parameter by endpoint, with its rule: these are checked and passed on, all others are
 * dropped.
 */
export const parametersOf: Readonly<Record<'chat' | 'text', Readonly<Record<string, Rule>>>> = {
  chat: {
    ...shared,
    max_completion_tokens: integer(1),
    logprobs: boolean,
    top_logprobs: integer(0, 20),
    tools: array(maxima.tools),
    tool_choice: stringOrObject,
    parallel_tool_calls: boolean,
    structured_outputs: boolean,
    reasoning_effort: efforts,
    thinking: object,
    enable_thinking: boolean,
    chat_template_kwargs: object,
    verbosity: oneOf('low', 'medium', 'high', 'xhigh', 'max'),
    prediction: object,
    web_search_options: object,
    metadata: members(maxima.metadata),
    cache_control: object,
    prompt_cache_key: string(maxima.id),
    prompt_cache_options: object,
    service_tier: string(maxima.name),
  },
  text: {
    ...shared,
    logprobs: integer(0, 20),
    suffix: string(maxima.text),
    echo: boolean,
    best_of: integer(1, 20),
  },
};

/**
 * Parameters of image and speech generation, which is not offered: no candidate takes them
 * (spec:api/12.8).
 */
export const notOffered: ReadonlySet<string> = new Set(['modalities', 'image_config', 'audio']);

function rule(requirement: Bilingual, isValid: (value: unknown) => boolean): Rule {
  return (value) => (isValid(value) ? null : requirement);
}

/** The first requirement of several that is not met. */
function all(...rules: readonly Rule[]): Rule {
  return (value) => {
    for (const each of rules) {
      const fault = each(value);
      if (fault !== null) return fault;
    }
    return null;
  };
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}
