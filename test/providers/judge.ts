import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { type Json, rulesOf } from './rules.ts';

/*
 * Judges a request as its provider would: by the schema that the provider publishes
 * (`schemas/`, refreshed by `scripts/provider-schemas.py`), then by the rules that are only prose
 * there (`rules.ts`).
 */

/** The APIs that judge; `engine` stands for those of which only the prose is known. */
export const apis = [
  ...['openai', 'azure', 'deepseek', 'moonshot', 'mistral', 'xai', 'groq', 'together', 'fireworks'],
  ...['vllm', 'sglang', 'generic', 'anthropic', 'bedrock', 'google'],
] as const;
export type Api = (typeof apis)[number];

/** The published schema of an API. xAI, DeepSeek and Moonshot publish none of their own. */
const schemaOf: Readonly<Record<string, string>> = { azure: 'openai' };
const published = new Set([
  ...['openai', 'mistral', 'groq', 'together', 'fireworks', 'vllm', 'sglang'],
  ...['anthropic', 'bedrock', 'google'],
]);

const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false, verbose: true });
const compiled = new Map<string, ValidateFunction>();

function schemaFor(api: Api): ValidateFunction | null {
  const name = schemaOf[api] ?? api;
  if (!published.has(name)) return null;
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const text = readFileSync(join(import.meta.dirname, 'schemas', `${name}.json`), 'utf8');
  const made = ajv.compile(JSON.parse(text));
  compiled.set(name, made);
  return made;
}

/** Why an API rejects a body, with the place; null when it accepts it. */
export function judge(api: Api, text: string): string | null {
  if (/(?<!\\)(\\\\)*\\ud[89a-f]/i.test(text)) return 'half of a surrogate pair';
  const body = JSON.parse(text) as Json;
  const schema = schemaFor(api);
  // Not in the published definition of a whole request, or of another API of the same server.
  const { stream_options: _, ...request } = body;
  if (schema !== null && !schema(api === 'openai' || api === 'azure' ? body : request)) {
    const errors = schema.errors ?? [];
    const worst = errors.toSorted((a, b) => b.instancePath.length - a.instancePath.length)[0];
    return `${worst?.instancePath}: ${worst?.message} ${JSON.stringify(worst?.params)} ${JSON.stringify(worst?.data)?.slice(0, 300)}`;
  }
  for (const rule of rulesOf(api)) {
    const reason = rule(body);
    if (reason !== null) return reason;
  }
  return null;
}
