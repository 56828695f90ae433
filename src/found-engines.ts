import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';

/** A local engine that somebody else runs on this machine, with what it serves. */
export interface FoundEngine {
  /** The slot's name. */
  readonly name: string;
  readonly title: string;
  readonly baseUrl: string;
  readonly models: readonly {
    readonly id: string;
    readonly engineName: string;
    readonly contextLength: number;
  }[];
}

/** Where the finds of the first start are kept, inside the data directory. */
export const foundEnginesFile = 'found-engines.json';

/** Where the well-known engines listen by default. */
const usualPlaces = [
  { title: 'Ollama', name: 'ollama', port: 11_434 },
  { title: 'llama-server', name: 'llama-server', port: 8080 },
  { title: 'vLLM', name: 'vllm', port: 8000 },
  { title: 'LM Studio', name: 'lm-studio', port: 1234 },
] as const;

const lookForMs = 400;
const largestListing = 1_000_000;
const contextUnlessStated = 8_192;

/** Looks once, at the first start of a data directory, for engines on this machine and remembers them. Returns them. */
export async function findEngines(dataDir: string): Promise<readonly FoundEngine[]> {
  const file = join(dataDir, foundEnginesFile);
  if (existsSync(file)) return [];
  const found = (await Promise.all(usualPlaces.map(look))).filter((engine) => engine !== null);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  writeFileSync(file, JSON.stringify(found), { mode: 0o600 });
  return found;
}

async function look({ title, name, port }: (typeof usualPlaces)[number]): Promise<FoundEngine | null> {
  const baseUrl = `http://127.0.0.1:${port}`;
  try {
    const response = await request(`${baseUrl}/v1/models`, { signal: AbortSignal.timeout(lookForMs) });
    const text = await response.body.text();
    if (response.statusCode !== 200 || text.length > largestListing) return null;
    const listing = JSON.parse(text) as { data?: unknown };
    const models = (Array.isArray(listing.data) ? listing.data : []).flatMap((row) => modelOf(name, row));
    return models.length === 0 ? null : { name, title, baseUrl, models };
  } catch {
    // Nobody there, or somebody who is no engine.
    return null;
  }
}

function modelOf(engine: string, row: unknown): FoundEngine['models'] {
  const { id, context_length: stated, max_model_len: limit } = row as Record<string, unknown>;
  if (typeof id !== 'string' || id === '') return [];
  const slug = id
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  const context = [stated, limit].find((value) => Number.isSafeInteger(value) && Number(value) > 0);
  return slug === ''
    ? []
    : [{ id: `${engine}/${slug}`, engineName: id, contextLength: Number(context ?? contextUnlessStated) }];
}
