import type { ModelMetadata, ModelMetadataEntry } from '../../config/model-metadata/metadata.ts';
import { modalities } from '../../config/schema-models.ts';
import { modelId } from '../../config/validators.ts';
import { isDay, type Json, membersOf, perMillion, stated, textIn, tokensOf } from './values.ts';

/*
 * Two public lists of models by provider: LiteLLM's `model_prices_and_context_window.json` and the
 * `api.json` of models.dev. A model is taken from the provider that makes it, under Naru's id for
 * it, and from the section `openrouter` of models.dev, whose ids are of Naru's form.
 */

type Known = ModelMetadata['models'];
type Row = ModelMetadataEntry | string;

interface Maker {
  /** The author in Naru's ids, and its name for people. */
  readonly author: string;
  readonly title: string;
  /** Its names in the two lists. */
  readonly litellm: string;
  readonly modelsDev: string;
  /** What its own models are called there: it may also serve those of others. */
  readonly own: RegExp;
}

// biome-ignore format: a table
const makers: readonly Maker[] = [
  { author: 'amazon', title: 'Amazon', litellm: 'bedrock_converse', modelsDev: 'amazon-bedrock', own: /^amazon\.nova-/ },
  { author: 'anthropic', title: 'Anthropic', litellm: 'anthropic', modelsDev: 'anthropic', own: /^claude-/ },
  { author: 'cohere', title: 'Cohere', litellm: 'cohere_chat', modelsDev: 'cohere', own: /^command-/ },
  { author: 'deepseek', title: 'DeepSeek', litellm: 'deepseek', modelsDev: 'deepseek', own: /^deepseek-/ },
  { author: 'google', title: 'Google', litellm: 'gemini', modelsDev: 'google', own: /^gemini-\d/ },
  { author: 'minimax', title: 'MiniMax', litellm: 'minimax', modelsDev: 'minimax', own: /^minimax-/i },
  { author: 'mistralai', title: 'Mistral', litellm: 'mistral', modelsDev: 'mistral', own: /^(open-)?(mi|code|dev|magi)\w*stral-/ },
  { author: 'moonshotai', title: 'MoonshotAI', litellm: 'moonshot', modelsDev: 'moonshotai', own: /^kimi-/ },
  { author: 'openai', title: 'OpenAI', litellm: 'openai', modelsDev: 'openai', own: /^(gpt-|o\d)/ },
  { author: 'qwen', title: 'Qwen', litellm: 'dashscope', modelsDev: 'alibaba', own: /^(qwen|qwq)/ },
  { author: 'x-ai', title: 'xAI', litellm: 'xai', modelsDev: 'xai', own: /^grok-/ },
  { author: 'z-ai', title: 'Z.AI', litellm: 'zai', modelsDev: 'zai', own: /^glm-/ },
];

const notOwn = 'it is not from the provider that makes it, or not a model of its own';
const isAlias = 'it is another name of a model';
const isOpen = 'its limits depend on who serves its weights';
const noContext = 'it has no context length';

/** The rows of one of the two lists; a text says why a row is skipped. Null: it is neither. */
export function makersRows(body: Json, known: Known): readonly Row[] | null {
  const sections = Object.values(body).map(membersOf);
  if (sections.some((row) => typeof row['litellm_provider'] === 'string')) return litellmRows(body, known);
  if (sections.some((row) => Object.keys(membersOf(row['models'])).length > 0))
    return modelsDevRows(body, known);
  return null;
}

function litellmRows(body: Json, known: Known): readonly Row[] {
  const nameOf = (key: string): string => key.slice(key.lastIndexOf('/') + 1);
  const ids = new Ids(known, Object.keys(body).map(nameOf));
  const rows = Object.entries(body).map(([key, value]) => {
    const row = membersOf(value);
    if (row['mode'] !== 'chat') return 'it is not a model for chat';
    const maker = makers.find(({ litellm }) => litellm === row['litellm_provider']);
    const named = ids.named(maker, nameOf(key));
    if (typeof named === 'string') return named;
    const input = tokensOf(row['max_input_tokens']);
    if (input === undefined) return noContext;
    // It lists the longest prompt and not the context, so known limits stay.
    const before = known.get(named.id);
    const context = before?.context_length ?? input;
    const output = before?.max_completion_tokens ?? tokensOf(row['max_output_tokens']);
    return {
      ...named,
      name: before?.name ?? `${maker?.title}: ${titleOf(named.id)}`,
      context_length: context,
      ...stated('max_completion_tokens', output === undefined ? undefined : Math.min(output, context)),
      input_modalities: modalities.filter((one) => one === 'text' || row[supports[one]] === true),
      ...litellmPrice(row),
    };
  });
  return once(rows, known);
}

const supports = {
  ...{ text: '', image: 'supports_vision', file: 'supports_pdf_input' },
  ...{ audio: 'supports_audio_input', video: 'supports_video_input' },
} as const;

function litellmPrice(row: Json): Pick<ModelMetadataEntry, 'price'> {
  const names = Object.keys(row);
  return priceOf(
    [
      row['input_cost_per_token'],
      row['output_cost_per_token'],
      row['cache_read_input_token_cost'],
      row['cache_creation_input_token_cost'],
    ],
    6,
    [
      ...(names.includes('input_cost_per_audio_token') ? ['audio'] : []),
      ...(names.some((name) => /_above_\d+k_tokens$/.test(name)) ? ['overrides'] : []),
    ],
  );
}

function modelsDevRows(body: Json, known: Known): readonly Row[] {
  const rows = Object.entries(body).flatMap(([provider, value]) => {
    const listed = Object.entries(membersOf(membersOf(value)['models']));
    const maker = makers.find(({ modelsDev }) => modelsDev === provider);
    const ids = new Ids(
      known,
      listed.map(([name]) => name),
    );
    return listed.map(([name, model]): Row => {
      const isId = provider === 'openrouter';
      if (isId && (modelId(name) !== null || name.startsWith('~'))) return isAlias;
      const named = isId ? { id: name } : ids.named(maker, name);
      return typeof named === 'string'
        ? named
        : modelsDevRow(membersOf(model), named, isId ? undefined : maker);
    });
  });
  return once(rows, known);
}

/** One model of models.dev; a router's row, which has no maker, states no price and no limit of it. */
function modelsDevRow(model: Json, named: Named, maker: Maker | undefined): Row {
  const [limit, cost, kinds] = [
    membersOf(model['limit']),
    membersOf(model['cost']),
    membersOf(model['modalities']),
  ];
  const context = tokensOf(limit['context']);
  if (context === undefined) return noContext;
  const max = maker === undefined ? undefined : tokensOf(limit['output']);
  const name = textIn(model['name'])?.replace(/ \(latest\)$/, '');
  const tiered = ['tiers', 'context_over_200k', 'input_audio', 'output_audio'].some((one) => one in cost);
  return {
    ...named,
    ...stated('name', name === undefined || maker === undefined ? name : `${maker.title}: ${name}`),
    ...stated('created', isDay(model['release_date']) ? model['release_date'] : undefined),
    ...stated('knowledge_cutoff', isDay(model['knowledge']) ? model['knowledge'] : undefined),
    context_length: context,
    ...stated('max_completion_tokens', max === undefined ? undefined : Math.min(max, context)),
    ...stated('input_modalities', modalitiesOf(kinds['input'])),
    ...stated('output_modalities', modalitiesOf(kinds['output'])),
    ...(maker === undefined
      ? {}
      : priceOf(
          ['input', 'output', 'cache_read', 'cache_write'].map((one) => cost[one]),
          0,
          tiered ? ['overrides'] : [],
        )),
  };
}

function modalitiesOf(value: unknown): ModelMetadataEntry['input_modalities'] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  const found = modalities.filter((one) => list.includes(one === 'file' ? 'pdf' : one));
  return found.length === 0 ? undefined : found;
}

/** None where everything is free: that is not the price of the operator's provider. */
function priceOf(
  amounts: readonly unknown[],
  power: number,
  unbilled: readonly string[],
): Pick<ModelMetadataEntry, 'price'> {
  const [prompt, completion, read, write] = amounts.map((amount) =>
    typeof amount === 'number' && amount >= 0 ? perMillion(String(amount), power) : undefined,
  );
  if (prompt === undefined || completion === undefined || (prompt === '0' && completion === '0')) return {};
  return {
    price: {
      ...{ prompt, completion },
      ...stated('cache_read', read === '0' ? undefined : read),
      ...stated('cache_write', write === '0' ? undefined : write),
      ...(unbilled.length === 0 ? {} : { unbilled: [...unbilled] }),
    },
  };
}

type Named = Pick<ModelMetadataEntry, 'id' | 'maker_model'>;

/** Naru's ids for the makers' names of their models. */
class Ids {
  readonly #known: ReadonlyMap<string, string>;
  readonly #names: ReadonlySet<string>;

  constructor(known: Known, names: readonly string[]) {
    this.#names = new Set(names);
    this.#known = new Map([...known.values()].map(({ id, maker_model: name }) => [nameIn(id, name), id]));
  }

  /** The id, and the maker's name where it differs; or why there is none. */
  named(maker: Maker | undefined, name: string): Named | string {
    if (maker === undefined || !maker.own.test(name)) return notOwn;
    const known = this.#known.get(`${maker.author}/${name}`);
    if (known === undefined && this.#isAlias(name)) return isAlias;
    const id = known ?? `${maker.author}/${plainName(maker, name)}`;
    if (modelId(id) !== null) return 'its id is invalid in Naru';
    return name === id.slice(maker.author.length + 1) ? { id } : { id, maker_model: name };
  }

  /** A name that moves, or one with the day of a release beside the plain name. */
  #isAlias(name: string): boolean {
    if (/-(latest|\d{8}|\d{4}-\d{2}-\d{2})$/.test(name)) return true;
    const plain = name.replace(/-\d{4}$/, '');
    return plain !== name && this.#names.has(plain);
  }
}

function nameIn(id: string, makerModel: string | undefined): string {
  const at = id.indexOf('/') + 1;
  return `${id.slice(0, at)}${makerModel ?? id.slice(at)}`;
}

/** `claude-opus-4-5` is `claude-opus-4.5`, `amazon.nova-pro-v1:0` is `nova-pro-v1`. */
function plainName({ author }: Maker, name: string): string {
  const lower = name.toLowerCase();
  if (author === 'anthropic') return lower.replace(/-(\d+)-(\d+)(?=-|$)/, '-$1.$2');
  return author === 'amazon' ? lower.replace(/^amazon\./, '').replace(/:\d+$/, '') : lower;
}

/** `openai/gpt-6-sol` is `GPT-6 Sol`. */
function titleOf(id: string): string {
  const words = id.slice(id.indexOf('/') + 1).split('-');
  const title = words.map((word) =>
    /^(gpt|glm)$/.test(word) ? word.toUpperCase() : word.charAt(0).toUpperCase() + word.slice(1),
  );
  return title.join(' ').replace(/^(GPT|GLM) /, '$1-');
}

/**
 * One row for each id: the maker's own members take precedence over a router's. What is known of
 * open models that have no price of their maker is of the model itself, not of a provider.
 */
function once(rows: readonly Row[], known: Known): readonly Row[] {
  const byId = new Map<string, Row>();
  for (const row of rows) {
    if (typeof row === 'string') continue;
    const [before, old] = [byId.get(row.id), known.get(row.id)];
    if (old?.hugging_face_id !== undefined && old.price === undefined) byId.set(row.id, isOpen);
    else if (typeof before !== 'object') byId.set(row.id, row);
    else byId.set(row.id, row.price === undefined ? { ...row, ...before } : { ...before, ...row });
  }
  return [...byId.values(), ...rows.filter((row) => typeof row === 'string')];
}
