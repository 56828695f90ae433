import { z } from 'zod';
import { modalities } from '../schema-models.ts';
import { modelId } from '../validators.ts';

/*
 * Public facts of models: context length, inputs, and the makers' prices. The file is shipped with
 * Naru and replaced by `naru models refresh`; rows of naru.yaml take from it what they do not
 * state.
 */

const tokens = z.int().min(1).max(1_000_000_000);
const message = z.string().min(1).max(20_000);
/** Plain decimal text: no sign, no exponent. */
const amount = z.string().regex(/^\d{1,12}(\.\d{1,24})?$/);
const day = z.iso.date();
const modality = z.enum(modalities);

const price = z.strictObject({
  prompt: amount,
  completion: amount,
  /** In USD for one request. */
  request: amount.optional(),
  cache_read: amount.optional(),
  cache_write: amount.optional(),
  cache_write_1h: amount.optional(),
  /** Other charges of the source, which Naru cannot bill. */
  unbilled: z.array(z.string().min(1).max(64)).max(32).optional(),
});

/** Unknown members are ignored: another version of Naru may have written the copy. */
const modelFact = z.object({
  id: z.string().refine((id) => modelId(id) === null),
  name: message.optional(),
  description: message.optional(),
  created: day.optional(),
  context_length: tokens.optional(),
  max_completion_tokens: tokens.optional(),
  input_modalities: z.array(modality).min(1).optional(),
  output_modalities: z.array(modality).min(1).optional(),
  hugging_face_id: message.optional(),
  knowledge_cutoff: day.optional(),
  tokenizer: message.optional(),
  /** The maker's own name of the model, where it is not the id without the author. */
  maker_model: message.optional(),
  price: price.optional(),
});

const factsFile = z.strictObject({
  as_of: day,
  /** The day of the prices, where it is not that of the other members. */
  prices_as_of: day.optional(),
  source: message,
  models: z.array(modelFact).max(100_000),
});

/** The public facts of one model. Absent members are unknown; prices are USD per million tokens. */
export type ModelMetadataEntry = z.output<typeof modelFact>;

/** Facts of many models, in the format of their file. */
export type ModelMetadataFile = z.output<typeof factsFile>;

/** The facts of a file, by id. */
export interface ModelMetadata {
  /** The day of the facts, `YYYY-MM-DD`. */
  readonly asOf: string;
  /** The day of the prices among them. */
  readonly pricesAsOf: string;
  /** Their source, for people. */
  readonly source: string;
  readonly models: ReadonlyMap<string, ModelMetadataEntry>;
}

/** The source of a configuration's facts. */
export interface ModelMetadataSource {
  /** The text of the file; throws when it cannot be read. */
  readonly read: () => string;
  /** For people: a path, or that they are shipped with Naru. */
  readonly origin: string;
}

/** A text has no usable facts; the message states why, and follows "…: ". */
export class ModelMetadataError extends Error {
  override readonly name = 'ModelMetadataError';
}

/** The maximum size of a facts file or a listing of models. */
export const maxMetadataBytes = 33_554_432;

/** Parses a facts file in our format. Throws a `ModelMetadataError`. */
export function parseMetadata(text: string): ModelMetadata {
  const checked = checkMetadata(jsonOf(text));
  return {
    asOf: checked.as_of,
    pricesAsOf: checked.prices_as_of ?? checked.as_of,
    source: checked.source,
    models: new Map(checked.models.map((row) => [row.id, row])),
  };
}

/** Validates a parsed facts file. Throws a `ModelMetadataError` with the first error. */
export function checkMetadata(json: unknown): ModelMetadataFile {
  const checked = factsFile.safeParse(json);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    throw new ModelMetadataError(
      `${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'is not a facts file'}`,
    );
  }
  const ids = new Set<string>();
  for (const { id } of checked.data.models) {
    if (ids.has(id)) throw new ModelMetadataError(`${id} is listed twice`);
    ids.add(id);
  }
  return checked.data;
}

/** Parses a text as JSON. Throws a `ModelMetadataError`. */
export function jsonOf(text: string): unknown {
  if (text.length > maxMetadataBytes)
    throw new ModelMetadataError(`it has more than ${maxMetadataBytes} bytes`);
  try {
    return JSON.parse(text);
  } catch {
    throw new ModelMetadataError('it is not JSON');
  }
}
