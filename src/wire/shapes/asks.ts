import { z } from 'zod';

const record = z.record(z.string(), z.unknown());
const whole = z.int().min(1);

const model = {
  model: z.string().optional().describe('A model id of the catalogue, exactly'),
  models: z.array(z.string()).max(16).optional().describe('Models to try in order, after `model`'),
};

const shared = {
  stream: z.boolean().nullable().optional(),
  max_tokens: whole.nullable().optional(),
  temperature: z.number().min(0).max(2).nullable().optional(),
  top_p: z.number().min(0).max(1).nullable().optional(),
  top_k: z.int().min(0).nullable().optional(),
  min_p: z.number().min(0).max(1).nullable().optional(),
  top_a: z.number().min(0).max(1).nullable().optional(),
  frequency_penalty: z.number().min(-2).max(2).nullable().optional(),
  presence_penalty: z.number().min(-2).max(2).nullable().optional(),
  repetition_penalty: z.number().min(0).max(2).nullable().optional(),
  seed: z.int().nullable().optional(),
  stop: z
    .union([z.string(), z.array(z.string())])
    .nullable()
    .optional(),
  logit_bias: record.nullable().optional(),
  n: whole.max(128).nullable().optional(),
  user: z.string().nullable().optional(),
  session_id: z.string().nullable().optional(),
  response_format: record.nullable().optional(),
  reasoning: record.nullable().optional(),
  include_reasoning: z.boolean().nullable().optional(),
  provider: record.nullable().optional().describe('Routing preferences'),
};

const part = z.looseObject({ type: z.string() });

/** The body of `POST /chat/completions`. Unlisted members are dropped. */
export const chatAskShape = z.looseObject({
  ...model,
  messages: z
    .array(
      z.looseObject({
        role: z.string().min(1).describe('system, developer, user, assistant or tool'),
        content: z
          .union([z.string(), z.array(part)])
          .nullable()
          .optional(),
      }),
    )
    .min(1),
  ...shared,
  max_completion_tokens: whole.nullable().optional(),
  logprobs: z.boolean().nullable().optional(),
  top_logprobs: z.int().min(0).max(20).nullable().optional(),
  tools: z.array(z.unknown()).nullable().optional(),
  tool_choice: z.union([z.string(), record]).nullable().optional(),
  parallel_tool_calls: z.boolean().nullable().optional(),
  reasoning_effort: z
    .enum(['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'])
    .nullable()
    .optional(),
});

/** The body of `POST /completions`. */
export const textAskShape = z.looseObject({
  ...model,
  prompt: z.union([
    z.string(),
    z.array(z.union([z.string(), z.int().min(0), z.array(z.int().min(0))])).min(1),
  ]),
  ...shared,
  logprobs: z.int().min(0).max(20).nullable().optional(),
  suffix: z.string().nullable().optional(),
  echo: z.boolean().nullable().optional(),
  best_of: whole.max(20).nullable().optional(),
});
