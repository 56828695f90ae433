import { z } from 'zod';
import { maxima } from '../maxima.ts';

/*
 * The bodies of completions, for the API document. They are on the hot path and parsed by hand
 * (`inference/parse-request.ts`); a test compares both.
 */

const record = z.record(z.string(), z.unknown());
const whole = z.int().min(1);
const name = z.string().max(maxima.name);
const id = z.string().max(maxima.id).nullable().optional();
const text = z.string().max(maxima.text);
const flag = z.boolean().nullable().optional();
const members = record.nullable().optional();
const items = (max: number) => z.array(z.unknown()).max(max).nullable().optional();
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

const names = z.array(name).max(maxima.providers).nullable().optional();
const bound = z.number().min(0).nullable().optional();
const bounds = z
  .union([z.number().min(0), z.looseObject({ p50: bound, p75: bound, p90: bound, p99: bound })])
  .nullable()
  .optional();
const wonAmount = z
  .union([z.number().min(0), name.regex(/^\s*\+?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?\s*$/)])
  .nullable()
  .optional();

/** The member `provider`: preferences for candidates. Unlisted members are ignored. */
export const preferencesShape = z
  .looseObject({
    order: names.describe('Providers to try first'),
    only: names,
    ignore: names,
    quantizations: names,
    allow_fallbacks: flag,
    require_parameters: flag,
    zdr: flag.describe('true: only candidates with no data retention'),
    data_collection: z.unknown().optional().describe('`deny`: only candidates that do not collect data'),
    sort: z
      .union([
        name,
        z.looseObject({
          by: name.nullable().optional(),
          partition: z.enum(['model', 'none']).nullable().optional(),
        }),
      ])
      .nullable()
      .optional()
      .describe('`price`, `throughput` or `latency`'),
    max_price: z
      .looseObject({
        prompt: wonAmount,
        completion: wonAmount,
        request: wonAmount,
        image: wonAmount,
        audio: wonAmount,
      })
      .nullable()
      .optional()
      .describe('Won per million tokens; `request` in won'),
    preferred_min_throughput: bounds.describe('Tokens per second, also by percentile'),
    preferred_max_latency: bounds.describe('Seconds to the first token, also by percentile'),
  })
  .describe('Routing preferences');

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
  response_format: members,
  reasoning: members,
  include_reasoning: flag,
  provider: preferencesShape.nullable().optional(),
  route: z.unknown().optional().describe('`sort`: as `provider.sort.partition: none`'),
};

const part = z.looseObject({ type: name });
const content = z.union([text, z.array(part).max(maxima.parts)]);

/** The body of `POST /chat/completions`. Unlisted members are dropped. */
export const chatRequestShape = z.looseObject({
  ...model,
  messages: z
    .array(
      z.looseObject({
        role: name.min(1).describe('system, developer, user, assistant or tool'),
        content: content.nullable().optional(),
      }),
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
  tools: items(maxima.tools),
  tool_choice: z.union([name, record]).nullable().optional(),
  parallel_tool_calls: flag,
  structured_outputs: flag,
  reasoning_effort: z
    .enum(['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'])
    .nullable()
    .optional(),
  thinking: members,
  enable_thinking: flag,
  chat_template_kwargs: members,
  verbosity: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullable().optional(),
  prediction: members,
  modalities: items(maxima.modalities),
  image_config: members,
  audio: members,
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
