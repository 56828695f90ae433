import { z } from 'zod';
import { requirements } from '../../errors/messages.ts';
import { decimalToScaled } from '../../money/krw.ts';
import { rateOfPico } from '../../money/price.ts';
import { maxima } from '../maxima.ts';
import { roles } from '../parameters.ts';
import { isMissing, must, reading } from '../parse-with.ts';
import { quantizations } from '../preferences.ts';

/*
 * The bodies of completions, for the API document. They are on the hot path and parsed by hand
 * (`inference/parse-request.ts`), but for what has its own shape here; a test compares both.
 */

const record = z.record(z.string(), z.unknown());
const whole = z.int().min(1);
const name = z.string().max(maxima.name);
const id = z.string().max(maxima.id).nullable().optional();
const text = z.string().max(maxima.text);
const flag = z.boolean().nullable().optional();
const members = record.nullable().optional();
const few = (max: number) =>
  record
    .refine((value) => Object.keys(value).length <= max)
    .meta({ maxProperties: max })
    .nullable()
    .optional();
/** vLLM and LM Studio write no limit as -1. */
const noLimit = z.literal(-1);
const maxTokens = z.union([whole, noLimit]).nullable().optional().describe('-1: no limit');

const model = {
  model: name.nullable().optional().describe('A model id of the catalogue, exactly'),
  models: z
    .array(name)
    .max(maxima.models)
    .nullable()
    .optional()
    .describe('Models to try in order, after `model`'),
};

/** A won per million tokens is 10^6 pico-won per token; a won per request is 10^12 pico-won. */
const perMillionTokens = 6;
const perUnit = 12;

const names = z.array(name).max(maxima.providers).nullable().optional();
const bound = z.number().min(0, { error: must(requirements.cutoffs) });
const optionalBound = bound.nullable().optional();
const bounds = z
  .union(
    [
      bound,
      z.strictObject({ p50: optionalBound, p75: optionalBound, p90: optionalBound, p99: optionalBound }),
    ],
    {
      error: must(requirements.cutoffs),
    },
  )
  .nullable()
  .optional();
const sort = z.enum(['price', 'throughput', 'latency', 'exacto']);

/** Won as a number, or as a decimal text, read as a rate. */
function wonAmount(decimals: number) {
  const error = must(requirements.wonAmount);
  const shape = z.union(
    [
      z.number().min(0, { error }),
      name.regex(/^\s*\+?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?\s*$/, { error }),
    ],
    { error },
  );
  return reading(
    shape,
    (won) => {
      const pico = decimalToScaled(String(won).trim(), decimals);
      return pico === null ? null : rateOfPico(pico);
    },
    requirements.wonAmount,
  )
    .nullable()
    .optional();
}

/** The member `provider`: preferences for candidates. No other member is accepted (spec:compat/5). */
export const preferencesShape = z
  .strictObject({
    order: names.describe('Providers to try first'),
    only: names,
    ignore: names,
    quantizations: z.array(z.enum(quantizations)).max(maxima.providers).nullable().optional(),
    allow_fallbacks: flag,
    require_parameters: flag,
    zdr: flag.describe('true: only candidates with no data retention'),
    enforce_distillable_text: flag.describe('true: only candidates whose text may be used for distillation'),
    data_collection: z
      .enum(['allow', 'deny', 'disallow'])
      .nullable()
      .optional()
      .describe('`deny` or `disallow`: only candidates that do not collect data'),
    sort: z
      .union(
        [
          sort,
          z.strictObject({
            by: sort.nullable().optional(),
            partition: z.enum(['model', 'none']).nullable().optional(),
          }),
        ],
        { error: must(requirements.sort) },
      )
      .nullable()
      .optional()
      .describe('`exacto` leaves the order as it is'),
    max_price: z
      .strictObject({
        prompt: wonAmount(perMillionTokens),
        completion: wonAmount(perMillionTokens),
        request: wonAmount(perUnit),
        image: wonAmount(perUnit),
        audio: wonAmount(perUnit),
      })
      .nullable()
      .optional()
      .describe('Won per million tokens; `request` in won'),
    preferred_min_throughput: bounds.describe('Tokens per second, also by percentile'),
    preferred_max_latency: bounds.describe('Seconds to the first token, also by percentile'),
  })
  .describe('Routing preferences');

const effort = z.enum(['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none']).nullable().optional();
const named = z.looseObject({ name: name.min(1, { error: isMissing }) });
const tools = z
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
  .max(maxima.tools)
  .nullable()
  .optional();
/** The forms of a choice that is an object, beside the type of a tool that is not a function. */
const choiceForms = ['function', 'custom', 'allowed_tools'] as const;
const toolChoice = z
  .union(
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
        .refine(({ type }) => choiceForms.every((form) => form !== type)),
    ],
    { error: must(requirements.toolChoice) },
  )
  .nullable()
  .optional();
const responseFormat = z
  .looseObject({
    type: z
      .enum(['text', 'json_object', 'json_schema', 'grammar', 'python', 'structural_tag'])
      .nullable()
      .optional(),
  })
  .nullable()
  .optional();
const reasoning = z.looseObject({ effort }).nullable().optional();

/** The parameters whose inner members are checked (spec:api/12.9). */
export const nestedShape = z
  .looseObject({ tools, tool_choice: toolChoice, response_format: responseFormat, reasoning })
  .refine(
    ({ tools: declared, tool_choice: choice }) =>
      typeof choice !== 'object' ||
      choice === null ||
      choiceForms.some((form) => form === choice.type) ||
      declared?.some(({ type }) => type === choice.type) === true,
    { path: ['tool_choice', 'type'], error: must(requirements.toolChoiceType) },
  );

const shared = {
  stream: flag,
  max_tokens: maxTokens,
  temperature: z.number().min(0).max(2).nullable().optional(),
  top_p: z.number().min(0).max(1).nullable().optional(),
  top_k: z
    .union([z.int().min(0), noLimit])
    .nullable()
    .optional()
    .describe('-1: no limit'),
  min_p: z.number().min(0).max(1).nullable().optional(),
  top_a: z.number().min(0).max(1).nullable().optional(),
  frequency_penalty: z.number().min(-2).max(2).nullable().optional(),
  presence_penalty: z.number().min(-2).max(2).nullable().optional(),
  repetition_penalty: z.number().min(0).max(2).nullable().optional(),
  seed: z.int().nullable().optional(),
  stop: z
    .union([z.string().max(maxima.id), z.array(z.string().max(maxima.id)).max(maxima.stops)])
    .nullable()
    .optional(),
  logit_bias: few(maxima.logitBias),
  n: whole.max(128).nullable().optional(),
  user: id,
  session_id: id,
  response_format: responseFormat,
  reasoning,
  include_reasoning: flag,
  provider: preferencesShape.nullable().optional(),
  route: z.unknown().optional().describe('`sort`: as `provider.sort.partition: none`'),
};

const part = z.looseObject({ type: name });
const content = z
  .union([text, z.array(part).max(maxima.parts)])
  .nullable()
  .optional();

/** The body of `POST /chat/completions`. Unlisted members are dropped. */
export const chatRequestShape = z.looseObject({
  ...model,
  messages: z
    .array(
      z.discriminatedUnion('role', [
        z.looseObject({ role: z.enum(roles).exclude(['tool']), content }),
        z.looseObject({ role: z.literal('tool'), tool_call_id: text, content }),
      ]),
    )
    .min(1)
    .max(maxima.messages)
    .describe(
      `A message has at most ${maxima.toolCalls} \`tool_calls\`, ${maxima.reasoningDetails} \`reasoning_details\`, ${maxima.annotations} \`annotations\` and as many \`images\``,
    ),
  ...shared,
  max_completion_tokens: maxTokens,
  logprobs: flag,
  top_logprobs: z.int().min(0).max(20).nullable().optional(),
  tools,
  tool_choice: toolChoice,
  parallel_tool_calls: flag,
  structured_outputs: flag,
  reasoning_effort: effort,
  thinking: members,
  enable_thinking: flag,
  chat_template_kwargs: members,
  verbosity: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullable().optional(),
  prediction: members,
  modalities: z.array(name).max(maxima.modalities).nullable().optional().describe('Other than `text`: 404'),
  image_config: members.describe('Unless empty: 404'),
  audio: members.describe('Unless empty: 404'),
  web_search_options: members,
  metadata: few(maxima.metadata),
  cache_control: members,
  prompt_cache_key: id,
  prompt_cache_options: members,
  service_tier: name.nullable().optional(),
});

/** Token ids. */
const tokens = z.array(z.int().min(0)).min(1).max(maxima.tokens);

/** The body of `POST /completions`. */
export const textRequestShape = z.looseObject({
  ...model,
  prompt: z.union([
    text,
    z.array(text).min(1).max(maxima.prompts),
    tokens,
    z.array(tokens).min(1).max(maxima.prompts),
  ]),
  ...shared,
  logprobs: z.int().min(0).max(20).nullable().optional(),
  suffix: text.nullable().optional(),
  echo: flag,
  best_of: whole.max(20).nullable().optional(),
});
