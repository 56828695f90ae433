import { z } from 'zod';
import { count, won } from './common.ts';

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'error']);
const record = z.record(z.string(), z.unknown());

/** Usage and cost. */
export const usageShape = z.strictObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  cost: won.describe('The cost of the response, in won'),
  is_byok: z.literal(false),
  prompt_tokens_details: z.strictObject({
    cached_tokens: count,
    cache_write_tokens: count,
    audio_tokens: count,
    video_tokens: count,
  }),
  cost_details: z.strictObject({
    upstream_inference_cost: z.null(),
    upstream_inference_prompt_cost: won,
    upstream_inference_completions_cost: won,
  }),
  completion_tokens_details: z.strictObject({
    reasoning_tokens: count,
    image_tokens: count,
    audio_tokens: count,
  }),
});

const toolCall = z.strictObject({
  index: count.optional(),
  id: z.string().optional(),
  type: z.literal('function').optional(),
  function: z.strictObject({ name: z.string().optional(), arguments: z.string().optional() }),
});

const parts = {
  reasoning_content: z.string().optional(),
  reasoning_details: z.array(z.unknown()).min(1).optional(),
  tool_calls: z.array(toolCall).min(1).optional(),
  annotations: z.array(z.unknown()).min(1).optional(),
};

const choiceEnd = {
  index: count,
  finish_reason: finishReason.nullable(),
  native_finish_reason: z.string().nullable(),
  logprobs: record.nullable(),
};

const head = { id: z.string().startsWith('gen-'), created: z.int(), model: z.string(), provider: z.string() };

/** A non-streamed chat completion. */
export const chatResponseShape = z.strictObject({
  ...head,
  object: z.literal('chat.completion'),
  system_fingerprint: z.string().nullable(),
  service_tier: z.string().optional(),
  choices: z
    .array(
      z.strictObject({
        ...choiceEnd,
        message: z.strictObject({
          role: z.literal('assistant'),
          content: z.string().nullable(),
          refusal: z.string().nullable(),
          reasoning: z.string().nullable(),
          ...parts,
        }),
      }),
    )
    .min(1),
  usage: usageShape,
});

/** One event of a streamed chat completion. */
export const chatChunkShape = z.strictObject({
  ...head,
  object: z.literal('chat.completion.chunk'),
  system_fingerprint: z.string().optional(),
  service_tier: z.string().optional(),
  choices: z.array(
    z.strictObject({
      ...choiceEnd,
      delta: z.strictObject({
        role: z.literal('assistant').optional().describe('In the first delta of a choice'),
        content: z.string().optional(),
        reasoning: z.string().optional(),
        refusal: z.string().optional(),
        ...parts,
      }),
    }),
  ),
  usage: usageShape.optional(),
  error: z
    .strictObject({
      code: z.int(),
      message: z.string().min(1),
      metadata: z
        .object({ error_type: z.string(), provider_code: z.string().optional() })
        .catchall(z.unknown()),
    })
    .optional(),
});

const textChoice = z.strictObject({ ...choiceEnd, text: z.string(), reasoning: z.string().optional() });

/** A non-streamed text completion. */
export const textResponseShape = z.strictObject({
  ...head,
  object: z.literal('text_completion'),
  system_fingerprint: z.string().nullable(),
  service_tier: z.string().optional(),
  choices: z.array(textChoice).min(1),
  usage: usageShape,
});

/** One event of a streamed text completion. */
export const textChunkShape = z.strictObject({
  ...head,
  object: z.literal('text_completion'),
  system_fingerprint: z.string().optional(),
  service_tier: z.string().optional(),
  choices: z.array(textChoice),
  usage: usageShape.optional(),
  error: chatChunkShape.shape.error,
});
