import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../store/make-folder.ts';

/** A local engine that somebody else runs on this machine, with what it serves. */
export interface FoundEngine {
  /** What its slots and its models' ids begin with. */
  readonly name: string;
  readonly title: string;
  readonly baseUrl: string;
  readonly models: readonly FoundModel[];
}

/** A model of a found engine. */
export interface FoundModel {
  /** The id that Naru offers it under. */
  readonly id: string;
  /** The slot that asks for it: engines know a model by their own name, which belongs to a slot. */
  readonly slot: string;
  /** The engine's name for it. */
  readonly engineName: string;
  readonly contextLength: number;
  /** Whether it takes images. */
  readonly images: boolean;
  /** What the engine says that the model cannot do. */
  readonly lacks: readonly ('tools' | 'thinking')[];
}

/** Where a well-known engine listens by default. */
export interface DefaultEndpoint {
  readonly title: string;
  readonly name: string;
  readonly port: number;
}

const foundEnginesFile = 'found-engines.json';

const modelForm = z.object({
  id: z.string(),
  slot: z.string(),
  engineName: z.string(),
  contextLength: z.number(),
  // Notes of before engines were asked have neither.
  images: z.boolean().default(false),
  lacks: z.array(z.enum(['tools', 'thinking'])).default([]),
});
const noteForm = z.array(
  z.object({ name: z.string(), title: z.string(), baseUrl: z.string(), models: z.array(modelForm) }),
);

const defaultEndpoints: readonly DefaultEndpoint[] = [
  { title: 'Ollama', name: 'ollama', port: 11_434 },
  { title: 'llama-server', name: 'llama-server', port: 8080 },
  { title: 'vLLM', name: 'vllm', port: 8000 },
  { title: 'LM Studio', name: 'lm-studio', port: 1234 },
];

const lookForMs = 400;
const maxListingBytes = 1_000_000;
const maxModels = 100;
const contextUnlessStated = 8_192;

/**
 * Looks once, at the first start of a data directory, for engines on this machine and remembers them there. Returns the finds
 * of this time: nothing at every later start.
 */
export async function findEngines(
  dataDir: string,
  places: readonly DefaultEndpoint[] = defaultEndpoints,
): Promise<readonly FoundEngine[]> {
  const file = join(dataDir, foundEnginesFile);
  if (existsSync(file)) return [];
  const found = (await Promise.all(places.map(look))).filter((engine) => engine !== null);
  makeFolder(dataDir, 0o700);
  writeFileSync(file, `${JSON.stringify(found, null, 2)}\n`, { mode: 0o600 });
  return found;
}

/** What the first start of this data directory found; nothing when it has not been, or when the note cannot be read. */
export function readFoundEngines(dataDir: string): readonly FoundEngine[] {
  try {
    return noteForm.parse(JSON.parse(readFileSync(join(dataDir, foundEnginesFile), 'utf8')));
  } catch {
    return [];
  }
}

async function look({ title, name, port }: DefaultEndpoint): Promise<FoundEngine | null> {
  const baseUrl = `http://127.0.0.1:${port}`;
  try {
    const { data } = await ask(`${baseUrl}/v1/models`);
    const listed = modelsOf(name, Array.isArray(data) ? data.slice(0, maxModels) : []);
    const abilities = await abilitiesOf(name, baseUrl, listed);
    const models = listed.flatMap((model) => {
      const can = abilities.get(model.engineName);
      return can === undefined ? [model] : can.chat ? [withAbilities(model, can)] : [];
    });
    return models.length === 0 ? null : { name, title, baseUrl, models };
  } catch {
    // Nobody there, or somebody who is no engine.
    return null;
  }
}

/** What an engine answers, when that is a JSON object; it throws otherwise. */
async function ask(url: string, body?: object): Promise<Json> {
  // Once in the life of a data directory, so the slow built-in client will do; undici takes 100 ms to load.
  const response = await fetch(url, {
    signal: AbortSignal.timeout(lookForMs),
    redirect: 'error',
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status !== 200 || text.length > maxListingBytes) throw new Error('no answer');
  return objectOf(JSON.parse(text));
}

/** What an engine says of a model. */
interface Abilities {
  /** Whether it talks: some turn text into numbers alone. */
  readonly chat: boolean;
  readonly images: boolean;
  readonly tools: boolean;
  readonly thinking: boolean;
  readonly contextLength: number | null;
}

/** What an engine says of its models beyond OpenAI's API, by their names; of the others nothing is known. */
async function abilitiesOf(
  engine: string,
  baseUrl: string,
  models: readonly FoundModel[],
): Promise<ReadonlyMap<string, Abilities>> {
  const response = await Promise.all(
    models.map(async ({ engineName }) => {
      try {
        const abilities = await abilityReaders[engine]?.(baseUrl, engineName);
        return abilities === undefined ? [] : [[engineName, abilities] as const];
      } catch {
        // An older engine, or one that is busy.
        return [];
      }
    }),
  );
  return new Map(response.flat());
}

const abilityReaders: Readonly<Record<string, (baseUrl: string, model: string) => Promise<Abilities>>> = {
  ollama: async (baseUrl, model) => {
    const { capabilities } = await ask(`${baseUrl}/api/show`, { model });
    if (!Array.isArray(capabilities)) throw new Error('nothing is said');
    const can = (name: string): boolean => capabilities.includes(name);
    return {
      chat: can('completion'),
      images: can('vision'),
      tools: can('tools'),
      thinking: can('thinking'),
      contextLength: null,
    };
  },
  'lm-studio': async (baseUrl, model) => {
    const { type, ...context } = await ask(`${baseUrl}/api/v0/models/${model}`);
    return {
      chat: type !== 'embeddings',
      images: type === 'vlm',
      // Without native use of tools it has a prompt of its own for them.
      tools: true,
      thinking: true,
      contextLength: tokensOf(context['loaded_context_length']) ?? tokensOf(context['max_context_length']),
    };
  },
  'llama-server': async (baseUrl) => {
    const {
      modalities,
      chat_template_caps: caps,
      default_generation_settings: settings,
    } = await ask(`${baseUrl}/props`);
    return {
      chat: true,
      images: objectOf(modalities)['vision'] === true,
      tools: objectOf(caps)['supports_tools'] !== false,
      thinking: true,
      contextLength: tokensOf(objectOf(settings)['n_ctx']),
    };
  },
};

function withAbilities(model: FoundModel, { images, tools, thinking, contextLength }: Abilities): FoundModel {
  return {
    ...model,
    images,
    lacks: [...(tools ? [] : (['tools'] as const)), ...(thinking ? [] : (['thinking'] as const))],
    contextLength: contextLength ?? model.contextLength,
  };
}

type Json = Readonly<Record<string, unknown>>;

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function tokensOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : null;
}

/** The listed models; of two whose names look alike in an id, the first. */
function modelsOf(engine: string, rows: readonly unknown[]): readonly FoundModel[] {
  const models = new Map<string, FoundModel>();
  for (const row of rows) {
    const model = modelOf(engine, row);
    if (model !== null && !models.has(model.id)) models.set(model.id, model);
  }
  return [...models.values()];
}

function modelOf(engine: string, row: unknown): FoundModel | null {
  const { id, context_length: stated, max_model_len: limit } = (row ?? {}) as Record<string, unknown>;
  if (typeof id !== 'string') return null;
  const slug = slugOf(id);
  if (slug === '') return null;
  return {
    id: `${engine}/${slug}`,
    slot: `${engine}-${slug}`.slice(0, 63),
    engineName: id,
    contextLength: tokensOf(stated) ?? tokensOf(limit) ?? contextUnlessStated,
    images: false,
    lacks: [],
  };
}

/** `llama3.2:3b` becomes `llama3.2-3b`, and `/models/Qwen3.gguf` becomes `qwen3`. */
function slugOf(id: string): string {
  const name = id.startsWith('/') ? (id.split('/').at(-1) ?? '') : id;
  return name
    .toLowerCase()
    .replace(/\.gguf$/, '')
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|[._-]+$/g, '')
    .slice(0, 50);
}
