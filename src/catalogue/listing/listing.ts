import {
  checkMetadata,
  type ModelMetadataEntry,
  ModelMetadataError,
  type ModelMetadataFile,
} from '../../config/model-metadata/metadata.ts';
import { modalities } from '../../config/schema-models.ts';
import { modelId } from '../../config/validators.ts';
import { makersRows } from './makers.ts';
import { isDay, type Json, membersOf, perMillion, stated, textIn, tokensOf } from './values.ts';

/** The result of reading a listing: its facts, and how many rows were skipped for each reason. */
export interface ReadListing {
  readonly file: ModelMetadataFile;
  readonly left: ReadonlyMap<string, number>;
}

/** Prices of the listing that Naru has no unit for. */
// biome-ignore format: one word per line is no clearer
const unbillable = ['image', 'image_token', 'image_output', 'audio', 'audio_output', 'input_audio_cache', 'web_search'];
const maxDescriptionLength = 400;

/**
 * The facts in a file or a response, whose format is detected: a listing of models, the body of a
 * `GET /models` of an OpenRouter-compatible API, `{data: […]}`; LiteLLM's price file; the
 * `api.json` of models.dev. An invalid row is skipped and counted; an incomplete listing, or one
 * without a valid row, throws a `ModelMetadataError`. A facts file is accepted as it is. `known` are
 * facts whose `maker_model` is kept, because no listing has it.
 */
export function metadataOfListing(
  json: unknown,
  about: {
    readonly asOf: string;
    readonly source: string;
    readonly known: ReadonlyMap<string, ModelMetadataEntry>;
  },
): ReadListing {
  const body = membersOf(json);
  if ('as_of' in body) return { file: checkMetadata(json), left: new Map() };
  if (typeof membersOf(body['links'])['next'] === 'string')
    throw new ModelMetadataError('it is one page of a listing: fetch the full listing');
  const rows = Array.isArray(body['data'])
    ? body['data'].map((row) => factOf(membersOf(row)))
    : makersRows(body, about.known);
  if (rows === null)
    throw new ModelMetadataError(
      'it is none of: a listing of models with a list "data", the price file of LiteLLM, the api.json of models.dev',
    );
  const metadata = new Map<string, ModelMetadataEntry>();
  const left = new Map<string, number>();
  for (const fact of rows) {
    const reason = typeof fact === 'string' ? fact : metadata.has(fact.id) ? 'its id is a duplicate' : null;
    if (reason !== null) left.set(reason, (left.get(reason) ?? 0) + 1);
    else if (typeof fact !== 'string')
      metadata.set(fact.id, { ...makerOf(about.known.get(fact.id)), ...fact });
  }
  if (metadata.size === 0)
    throw new ModelMetadataError(`none of its ${rows.length} rows is a model${messageOf(left)}`);
  const models = [...metadata.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return { file: checkMetadata({ as_of: about.asOf, source: about.source, models }), left };
}

/** ` (3 × its id is not valid; 1 × …)`; empty when nothing was skipped. */
export function messageOf(left: ReadonlyMap<string, number>): string {
  const message = [...left].map(([reason, count]) => `${count} × ${reason}`);
  return message.length === 0 ? '' : ` (${message.join('; ')})`;
}

/** The fact of one row, or why there is none. */
function factOf(row: Json): ModelMetadataEntry | string {
  const id = row['id'];
  if (typeof id !== 'string') return 'it has no id';
  if (modelId(id) !== null) return 'its id is invalid in Naru';
  const price = priceOf(membersOf(row['pricing']));
  if (typeof price === 'string') return price;
  const architecture = membersOf(row['architecture']);
  const context = tokensOf(row['context_length']);
  if (context === undefined) return 'it has no context length';
  const max = tokensOf(membersOf(row['top_provider'])['max_completion_tokens']);
  const description = textIn(row['description']);
  return {
    id,
    ...stated('name', textIn(row['name'])),
    ...stated('description', description === undefined ? undefined : shortened(description)),
    ...stated('created', dayOf(row['created'])),
    context_length: context,
    ...stated('max_completion_tokens', max === undefined ? undefined : Math.min(max, context)),
    ...stated('input_modalities', modalitiesOf(architecture['input_modalities'])),
    ...stated('output_modalities', modalitiesOf(architecture['output_modalities'])),
    ...stated('hugging_face_id', textIn(row['hugging_face_id'])),
    ...stated('knowledge_cutoff', isDay(row['knowledge_cutoff']) ? row['knowledge_cutoff'] : undefined),
    ...stated('tokenizer', textIn(architecture['tokenizer'])),
    ...price,
  };
}

/**
 * Converts a price per token to one per million. There is none where it depends on the route
 * (`-1`), and none where everything is free: that is the listing's offer, not the price of the
 * operator's provider. A cache price of zero counts as not stated.
 */
function priceOf(pricing: Json): Pick<ModelMetadataEntry, 'price'> | string {
  if (pricing['prompt'] === '-1' || pricing['completion'] === '-1') return {};
  const [prompt, completion] = [perMillion(pricing['prompt']), perMillion(pricing['completion'])];
  if (prompt === undefined || completion === undefined) return 'its price is not a pair of decimal numbers';
  if (prompt === '0' && completion === '0') return {};
  const request = perMillion(pricing['request'], 0);
  const unbilled = unbillable.filter((name) => (perMillion(pricing[name]) ?? '0') !== '0');
  const overrides = pricing['overrides'];
  if (Array.isArray(overrides) && overrides.length > 0) unbilled.push('overrides');
  return {
    price: {
      prompt,
      completion,
      ...stated('request', notZero(request)),
      ...stated('cache_read', notZero(perMillion(pricing['input_cache_read']))),
      ...stated('cache_write', notZero(perMillion(pricing['input_cache_write']))),
      ...stated('cache_write_1h', notZero(perMillion(pricing['input_cache_write_1h']))),
      ...(unbilled.length === 0 ? {} : { unbilled }),
    },
  };
}

function notZero(text: string | undefined): string | undefined {
  return text === '0' ? undefined : text;
}

function makerOf(known: ModelMetadataEntry | undefined): Pick<ModelMetadataEntry, 'maker_model'> {
  return stated('maker_model', known?.maker_model);
}

/** The first paragraph, at most a few lines of it. */
function shortened(text: string): string {
  const [paragraph = ''] = text.split(/\n\s*\n/);
  const chars = [...paragraph];
  return chars.length <= maxDescriptionLength
    ? paragraph
    : `${chars.slice(0, maxDescriptionLength - 1).join('')}…`;
}

function modalitiesOf(value: unknown): ModelMetadataEntry['input_modalities'] {
  if (!Array.isArray(value)) return undefined;
  const known = modalities.filter((one) => value.includes(one));
  return known.length === 0 ? undefined : known;
}

function dayOf(seconds: unknown): string | undefined {
  if (typeof seconds !== 'number' || !(seconds >= 0 && seconds < 253_402_300_800)) return undefined;
  return new Date(Math.floor(seconds) * 1000).toISOString().slice(0, 10);
}
