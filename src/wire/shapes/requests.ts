import { z } from 'zod';
import { maxima } from '../maxima.ts';
import { parameterShapes, roles } from '../parameters.ts';
import { preferencesShape } from '../preferences.ts';

/*
 * The bodies of completions, for the API document. They are on the hot path and parsed by hand
 * (`inference/parse-request.ts`); a test compares both.
 */

const name = z.string().max(maxima.name);
const text = z.string().max(maxima.text);
const members = z.record(z.string(), z.unknown()).nullable().optional();

/** Members of both endpoints that are not passed on. */
const routing = {
  model: name.nullable().optional().describe('A model id of the catalogue, exactly'),
  models: z
    .array(name)
    .max(maxima.models)
    .nullable()
    .optional()
    .describe('Models to try in order, after `model`'),
  stream: z.boolean().nullable().optional(),
  session_id: z.string().max(maxima.id).nullable().optional(),
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
  ...routing,
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
  modalities: z.array(name).max(maxima.modalities).nullable().optional().describe('Other than `text`: 404'),
  image_config: members.describe('Unless empty: 404'),
  audio: members.describe('Unless empty: 404'),
  ...parameterShapes('chat'),
});

/** Token ids. */
const tokens = z.array(z.int().min(0)).min(1).max(maxima.tokens);

/** The body of `POST /completions`. */
export const textRequestShape = z.looseObject({
  ...routing,
  prompt: z.union([
    text,
    z.array(text).min(1).max(maxima.prompts),
    tokens,
    z.array(tokens).min(1).max(maxima.prompts),
  ]),
  ...parameterShapes('text'),
});
