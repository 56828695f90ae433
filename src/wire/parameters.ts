import { z } from 'zod';
import { type Bilingual, requirements } from '../errors/messages.ts';
import { isObject } from './json.ts';
import { maxima } from './maxima.ts';
import { isMissing, must } from './parse-with.ts';

/**
 * What a value must be when it is not that; null when it is valid. Completions are on the hot path,
 * so their parameters are checked by hand.
 */
type Rule = (value: unknown) => Bilingual | null;

/** A parameter of a completion. Null means that it is absent. */
export interface Parameter {
  readonly rule: Rule;
  /** What the API document states; accepts the same values as `rule`. */
  readonly shape: z.ZodType;
  /** Whether -1 means that it is absent: vLLM and LM Studio write no limit so. */
  readonly isLimit?: boolean;
  /** Whether its inner members are checked as well, with its shape (spec:api/12.9). */
  readonly isNested?: boolean;
}

function parameter(rule: Rule, shape: z.ZodType): Parameter {
  return { rule, shape: shape.nullable().optional() };
}

const number = (min: number, max: number): Parameter =>
  parameter(
    rule(requirements.number(min, max), (value) => typeof value === 'number' && value >= min && value <= max),
    z.number().min(min).max(max),
  );
const integer = (min: number, max = Number.MAX_SAFE_INTEGER): Parameter =>
  parameter(
    rule(
      max === Number.MAX_SAFE_INTEGER ? requirements.minInteger(min) : requirements.integer(min, max),
      (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
    ),
    z.int().min(min).max(max),
  );
const limit = (min: number): Parameter => ({
  rule: integer(min).rule,
  shape: z
    .union([z.int().min(min), z.literal(-1)])
    .nullable()
    .optional()
    .describe('-1: no limit'),
  isLimit: true,
});
const boolean = parameter(
  rule(requirements.boolean, (value) => typeof value === 'boolean'),
  z.boolean(),
);
const isWithin = (max: number) => (value: unknown) => !isString(value) || value.length <= max;
const within = (max: number): Rule => rule(requirements.maxLength(max), isWithin(max));
const string = (max: number): Parameter =>
  parameter(all(rule(requirements.string, isString), within(max)), z.string().max(max));
const oneOf = (...values: readonly string[]): Parameter =>
  parameter(
    rule(requirements.oneOf(values), (value) => isString(value) && values.includes(value)),
    z.enum(values),
  );
const record = z.record(z.string(), z.unknown());
const isRecord = rule(requirements.object, isObject);
const object = parameter(isRecord, record);
const members = (max: number): Parameter =>
  parameter(
    all(
      isRecord,
      rule(requirements.maxMembers(max), (value) => Object.keys(value as object).length <= max),
    ),
    record.refine((value) => Object.keys(value).length <= max).meta({ maxProperties: max }),
  );
const maxItems = (max: number): Rule =>
  rule(requirements.maxItems(max), (value) => !Array.isArray(value) || value.length <= max);
/** A parameter whose inner members its shape checks, once `rule` has found nothing. */
const nested = (check: Rule, shape: z.ZodType): Parameter => ({ ...parameter(check, shape), isNested: true });

const stop = z.string().max(maxima.id);
const stops = parameter(
  all(
    maxItems(maxima.stops),
    rule(
      requirements.stringOrStrings,
      (value) => isString(value) || (Array.isArray(value) && value.every(isString)),
    ),
    rule(requirements.maxLength(maxima.id), (value) =>
      (isString(value) ? [value] : (value as readonly string[])).every(isWithin(maxima.id)),
    ),
  ),
  z.union([stop, z.array(stop).max(maxima.stops)]),
);

const efforts = ['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'] as const;
const reasoning = nested(isRecord, z.looseObject({ effort: z.enum(efforts).nullable().optional() }));
const responseFormats = ['text', 'json_object', 'json_schema', 'grammar', 'python', 'structural_tag'];
const responseFormat = nested(
  isRecord,
  z.looseObject({ type: z.enum(responseFormats).nullable().optional() }),
);
const name = z.string().max(maxima.name);
const named = z.looseObject({ name: name.min(1, { error: isMissing }) });
const tools = nested(
  all(rule(requirements.array, Array.isArray), maxItems(maxima.tools)),
  z
    .array(
      z
        .looseObject({
          type: name.min(1, { error: isMissing }).describe('`function`, or a tool of the provider'),
          function: named.nullable().optional(),
        })
        .refine(({ type, function: declared }) => type !== 'function' || declared != null, {
          path: ['function'],
          error: isMissing,
        }),
    )
    .max(maxima.tools),
);
/** The forms of a choice that is an object, beside the type of a tool that is not a function. */
const choiceForms: readonly unknown[] = ['function', 'custom', 'allowed_tools'];
const toolChoice = nested(
  all(
    rule(requirements.stringOrObject, (value) => isString(value) || isObject(value)),
    within(maxima.name),
  ),
  z.union(
    [
      z.enum(['none', 'auto', 'required']),
      z.looseObject({ type: z.literal('function'), function: named }),
      z.looseObject({ type: z.literal('custom'), custom: named }),
      z.looseObject({
        type: z.literal('allowed_tools'),
        allowed_tools: z.looseObject({
          mode: z.enum(['auto', 'required']),
          tools: z.array(z.unknown()).max(maxima.tools),
        }),
      }),
      z
        .looseObject({ type: name.min(1).describe('The `type` of one of the `tools`') })
        .refine(({ type }) => !choiceForms.includes(type)),
    ],
    { error: must(requirements.toolChoice) },
  ),
);

/** The roles of a message; `function` precedes `tool`. */
export const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const;

/** Parameters of both endpoints. */
const shared: Readonly<Record<string, Parameter>> = {
  max_tokens: limit(1),
  temperature: number(0, 2),
  top_p: number(0, 1),
  top_k: limit(0),
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
  response_format: responseFormat,
  reasoning,
  include_reasoning: boolean,
};

/**
 * Every known parameter by endpoint: these are checked, documented and passed on, all others are
 * dropped. The first one at fault is reported.
 */
export const parametersOf: Readonly<Record<'chat' | 'text', Readonly<Record<string, Parameter>>>> = {
  chat: {
    ...shared,
    max_completion_tokens: limit(1),
    logprobs: boolean,
    top_logprobs: integer(0, 20),
    tools,
    tool_choice: toolChoice,
    parallel_tool_calls: boolean,
    structured_outputs: boolean,
    reasoning_effort: oneOf(...efforts),
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

/** The schemas of the parameters of an endpoint, by name. */
export function parameterShapes(kind: 'chat' | 'text'): Readonly<Record<string, z.ZodType>> {
  return Object.fromEntries(Object.entries(parametersOf[kind]).map(([name, { shape }]) => [name, shape]));
}

/** Checks the inner members of parameters (spec:api/12.9); other members are not looked at. */
export const nestedShape = z
  .looseObject(
    Object.fromEntries(
      Object.entries(parametersOf.chat).flatMap(([name, { shape, isNested }]) =>
        isNested === true ? [[name, shape] as const] : [],
      ),
    ),
  )
  .refine(({ tools: declared, tool_choice: choice }) => isChoiceOf(choice, declared), {
    path: ['tool_choice', 'type'],
    error: must(requirements.toolChoiceType),
  });

/**
 * Parameters of image and speech generation, which is not offered: no candidate takes them
 * (spec:api/12.8).
 */
export const notOffered: ReadonlySet<string> = new Set(['modalities', 'image_config', 'audio']);

/** Whether a choice that is an object has a form of its own, or the type of one of the tools. */
function isChoiceOf(choice: unknown, declared: unknown): boolean {
  if (!isObject(choice) || choiceForms.includes(choice['type'])) return true;
  return (
    Array.isArray(declared) && declared.some((tool) => isObject(tool) && tool['type'] === choice['type'])
  );
}

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
