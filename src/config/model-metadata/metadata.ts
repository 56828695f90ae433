import { z } from 'zod';
import { modalities } from '../schema-models.ts';
import { modelId } from '../validators.ts';

/*
 * Public facts of models: how long their context is, what they take, what their makers ask for them. A file of ours, shipped with
 * Naru and replaced by `naru models refresh`; rows of naru.yaml take from it what they do not state themselves.
 */

const tokens = z.int().min(1).max(1_000_000_000);
const words = z.string().min(1).max(20_000);
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
  /** What the source charges for beside all this, and Naru cannot bill. */
  unbilled: z.array(z.string().min(1).max(64)).max(32).optional(),
});

const modelFact = z.strictObject({
  id: z.string().refine((id) => modelId(id) === null),
  name: words.optional(),
  description: words.optional(),
  created: day.optional(),
  context_length: tokens.optional(),
  max_completion_tokens: tokens.optional(),
  input_modalities: z.array(modality).min(1).optional(),
  output_modalities: z.array(modality).min(1).optional(),
  supported_parameters: z.array(z.string().regex(/^[a-z][a-z0-9_]{0,63}$/)).optional(),
  hugging_face_id: words.optional(),
  knowledge_cutoff: day.optional(),
  tokenizer: words.optional(),
  /** What its maker's own API calls it, where that is not the id without the author. */
  maker_model: words.optional(),
  price: price.optional(),
});

const factsFile = z.strictObject({ as_of: day, source: words, models: z.array(modelFact).max(100_000) });

/** What is publicly known of one model. Members that are absent are unknown; prices are USD per million tokens. */
export type ModelFact = z.output<typeof modelFact>;

/** Facts of many models, as they stand in their file. */
export type FactsFile = z.output<typeof factsFile>;

/** The facts of a file, by id. */
export interface Facts {
  /** The day that they are of, `YYYY-MM-DD`. */
  readonly asOf: string;
  /** Where they were read, for people. */
  readonly source: string;
  readonly models: ReadonlyMap<string, ModelFact>;
}

/** Where a configuration takes facts from. */
export interface FactsSource {
  /** The text of the file; throws when it cannot be read. */
  readonly read: () => string;
  /** For people: a path, or that they came with Naru. */
  readonly origin: string;
}

/** Facts cannot be had from a text; the message says why, and fits behind "…: ". */
export class FactsFault extends Error {
  override readonly name = 'FactsFault';
}

/** The largest file of facts or listing of models that is read. */
export const largestFactsBytes = 33_554_432;

/** The facts that a text states, in the format of ours. Throws a `FactsFault`. */
export function parseFacts(text: string): Facts {
  const checked = checkFacts(jsonOf(text));
  return {
    asOf: checked.as_of,
    source: checked.source,
    models: new Map(checked.models.map((row) => [row.id, row])),
  };
}

/** The file that a parsed JSON is. Throws a `FactsFault` that names the first thing wrong with it. */
export function checkFacts(json: unknown): FactsFile {
  const checked = factsFile.safeParse(json);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    throw new FactsFault(`${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'is no file of facts'}`);
  }
  const ids = new Set<string>();
  for (const { id } of checked.data.models) {
    if (ids.has(id)) throw new FactsFault(`${id} stands in it twice`);
    ids.add(id);
  }
  return checked.data;
}

/** A text as JSON. Throws a `FactsFault`. */
export function jsonOf(text: string): unknown {
  if (text.length > largestFactsBytes) throw new FactsFault(`it has more than ${largestFactsBytes} bytes`);
  try {
    return JSON.parse(text);
  } catch {
    throw new FactsFault('it is not JSON');
  }
}
