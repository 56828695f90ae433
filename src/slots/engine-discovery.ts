import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { requestJson } from '../http/client/request.ts';
import { makeFolder } from '../store/make-folder.ts';
import { systemClock } from '../time/clock.ts';

/** A local engine that runs on this machine outside Naru, with its models. */
export interface FoundEngine {
  /** The prefix of its slots and model ids. */
  readonly name: string;
  readonly title: string;
  readonly baseUrl: string;
  readonly models: readonly FoundModel[];
}

/** A model of a detected engine. */
export interface FoundModel {
  /** Its model id in Naru. */
  readonly id: string;
  /** Its slot: engines use their own model names, which belong to a slot. */
  readonly slot: string;
  /** The engine's name for it. */
  readonly engineName: string;
  readonly contextLength: number;
  /** Whether it accepts images. */
  readonly images: boolean;
  /** Capabilities that the model lacks, as the engine reports. */
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
  images: z.boolean(),
  lacks: z.array(z.enum(['tools', 'thinking'])),
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

const lookForMs = 1_500;
const maxListingBytes = 1_000_000;
const maxModels = 100;
const contextUnlessStated = 8_192;

/**
 * Detects engines on this machine once, at the first start of a data directory, and stores them
 * there. Returns the engines detected by this call: none on later starts.
 */
export async function findEngines(
  dataDir: string,
  endpoints: readonly DefaultEndpoint[] = defaultEndpoints,
): Promise<readonly FoundEngine[]> {
  const file = join(dataDir, foundEnginesFile);
  if (existsSync(file)) return [];
  const found = (await Promise.all(endpoints.map(look))).filter((engine) => engine !== null);
  makeFolder(dataDir, 0o700);
  writeFileSync(file, `${JSON.stringify(found, null, 2)}\n`, { mode: 0o600 });
  return found;
}

/**
 * The engines that the first start of this data directory detected; none before it, or when the
 * file is unreadable.
 */
export function readFoundEngines(dataDir: string): readonly FoundEngine[] {
  try {
    return noteForm.parse(JSON.parse(readFileSync(join(dataDir, foundEnginesFile), 'utf8')));
  } catch {
    return [];
  }
}

/** What engines state as `owned_by` of their models. */
const owners: ReadonlyMap<unknown, { readonly kind: string; readonly title: string }> = new Map([
  ['vllm', { kind: 'vllm', title: 'vLLM' }],
  ['sglang', { kind: 'sglang', title: 'SGLang' }],
  ['llamacpp', { kind: 'llama-server', title: 'llama-server' }],
]);

/** The engine behind a default port, which others use too: 8000 is the port of many servers. */
function identify(endpoint: DefaultEndpoint, rows: readonly unknown[]): { kind: string; title: string } {
  const { owned_by: owner, status } = objectOf(rows[0]);
  const stated = owners.get(owner);
  if (stated !== undefined) return stated;
  // It states who made the model instead, and whether the model is loaded.
  if (/^(un)?loaded$/.test(String(objectOf(status)['value'])))
    return { kind: 'transformers', title: 'transformers serve' };
  return endpoint.name === 'vllm'
    ? { kind: 'local', title: 'Local engine' }
    : { kind: endpoint.name, title: endpoint.title };
}

async function look(endpoint: DefaultEndpoint): Promise<FoundEngine | null> {
  const { port } = endpoint;
  const baseUrl = `http://127.0.0.1:${port}`;
  try {
    const { data } = await fetchJson(`${baseUrl}/v1/models`);
    const rows: readonly unknown[] = Array.isArray(data) ? data.slice(0, maxModels) : [];
    const { kind, title } = identify(endpoint, rows);
    // Another engine may have the name of this kind, at its default port.
    const name = kind === endpoint.name ? kind : `${kind}-${port}`;
    const listed = modelsOf(name, rows);
    const abilities = await abilitiesOf(kind, baseUrl, listed);
    const models = listed.flatMap((model) => {
      const can = abilities.get(model.engineName);
      return can === undefined ? [model] : can.chat ? [withAbilities(model, can)] : [];
    });
    return models.length === 0 ? null : { name, title, baseUrl, models };
  } catch {
    // Nothing listens there, or it is not an engine.
    return null;
  }
}

/**
 * The response of an engine; empty if it is not a JSON object. Throws when there is none in time.
 */
async function fetchJson(url: string, body?: object): Promise<Json> {
  const limits = { clock: systemClock, timeoutMs: lookForMs, maxBytes: maxListingBytes };
  const post = { method: 'POST', headers: { 'content-type': 'application/json' } } as const;
  return objectOf(
    await requestJson(url, body === undefined ? limits : { ...limits, ...post, body: JSON.stringify(body) }),
  );
}

/** The properties of a model that an engine reports. */
interface Abilities {
  /** Whether it generates text; embedding models do not. */
  readonly chat: boolean;
  readonly images: boolean;
  readonly tools: boolean;
  readonly thinking: boolean;
  readonly contextLength: number | null;
}

/**
 * The properties that an engine reports beyond OpenAI's API, by model name; unknown for other
 * models.
 */
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
        // An older or busy engine.
        return [];
      }
    }),
  );
  return new Map(response.flat());
}

const abilityReaders: Readonly<Record<string, (baseUrl: string, model: string) => Promise<Abilities>>> = {
  ollama: async (baseUrl, model) => {
    const { capabilities } = await fetchJson(`${baseUrl}/api/show`, { model });
    if (!Array.isArray(capabilities)) throw new Error('no capabilities');
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
    const { type, ...context } = await fetchJson(`${baseUrl}/api/v0/models/${model}`);
    return {
      chat: type !== 'embeddings',
      images: type === 'vlm',
      // Without native tool use the engine adds its own prompt for tools.
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
    } = await fetchJson(`${baseUrl}/props`);
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

/** The listed models; of two with the same id, the first. */
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

/** `llama3.2:3b` becomes `llama3.2-3b`; a path, also a relative one, its file: `models/Qwen3.gguf` becomes `qwen3`. */
function slugOf(id: string): string {
  const isFile = id.startsWith('/') || /^\.{1,2}\/|\.gguf$/i.test(id);
  const name = isFile ? (id.split(/[/\\]/).at(-1) ?? '') : id;
  return name
    .toLowerCase()
    .replace(/\.gguf$/, '')
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|[._-]+$/g, '')
    .slice(0, 50);
}
