/**
 * Refreshes `data/model-metadata.json`, the public facts of models that are shipped with Naru:
 *
 *     npm run metadata -- "SOURCE=FILE" …
 *
 * `SOURCE` says what `FILE` is, with its version and date; it is written into the data. A file is
 * LiteLLM's price file (`litellm/model_prices_and_context_window_backup.json` of its PyPI package),
 * the `api.json` of models.dev, or a checkout of the repository of models.dev. A later file takes
 * precedence. Models that are shipped stay; newer ones are added if their maker lists a price and
 * they are for text. Only facts are taken: no description. It prints what it changes.
 */
import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parse } from 'smol-toml';
import { metadataOfListing } from '../src/catalogue/listing/listing.ts';
import { changesOf, mergeMetadata } from '../src/catalogue/listing/merge.ts';
import {
  checkMetadata,
  type ModelMetadataEntry,
  parseMetadata,
} from '../src/config/model-metadata/metadata.ts';
import { shippedFacts } from '../src/config/model-metadata/shipped.ts';
import { systemClock } from '../src/time/clock.ts';
import { isoDay, seoulDayAt } from '../src/time/period.ts';

type Json = Readonly<Record<string, unknown>>;

const target = new URL('../data/model-metadata.json', import.meta.url);
/**
 * The dearest price that is taken, in USD per million tokens: `confirm` in naru.yaml depends on the
 * dearest model (spec:money/2.7), and one of an odd kind would disable it.
 */
const maxPrice = 75;
/** The shipped list was complete on this day: only newer models are added. */
const addedSince = '2025-10-15';
/** Names of models for another use than chat, of variants of one that is listed, and of old ones. */
const odd =
  /-(chat|fast|flashx|turbo|coder|tiny|small|medium|r1|v3|[34]-0|airx|x)$|^openai\/(gpt-4|o1).*|openai\/.*-pro$|16k|asr|audio|beta|character|codex|customtools|cyber|embed|exp\b|experimental|highspeed|image|instruct|law|lightning|medium-3\.5|ministral-3-|mt-|multi-agent|mythos|ocr|omni|preview-|qwen-|qwq|realtime|reasoning|research|rosalind|search|tts|vibe|vision|vl-|0414|premier/;

const shipped = parseMetadata(shippedFacts.read()).models;
let models = shipped;
const sources: string[] = [];
for (const argument of process.argv.slice(2)) {
  const at = argument.indexOf('=');
  const file = argument.slice(at + 1);
  sources.push(argument.slice(0, at));
  const json = statSync(file).isDirectory() ? modelsDev(file) : JSON.parse(readFileSync(file, 'utf8'));
  const { file: found } = metadataOfListing(json, { asOf: addedSince, source: file, known: models });
  models = new Map(mergeMetadata(models, found.models, 'take').map((entry) => [entry.id, entry]));
}
if (sources.length === 0 || sources.includes(''))
  throw new Error('usage: npm run metadata -- "SOURCE=FILE" …');
const { models: rows, ...about } = checkMetadata({
  as_of: isoDay(seoulDayAt(systemClock.now())),
  source: sources.join('; '),
  models: [...models.values()].filter((entry) => shipped.has(entry.id) || isWanted(entry)),
});
const lines = rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n');
writeFileSync(target, `${JSON.stringify(about, null, 2).slice(0, -2)},\n  "models": [\n${lines}\n  ]\n}\n`);
for (const { id } of rows) if (!shipped.has(id)) console.log(`added ${id}`);
for (const { id, member, before, after } of changesOf(shipped, rows))
  console.log(`${id}: ${member}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`);
console.log(`${rows.length} models, ${statSync(target).size} bytes`);

function isWanted({ id, price, created, output_modalities: outputs }: ModelMetadataEntry): boolean {
  if (price === undefined || Math.max(Number(price.prompt), Number(price.completion)) > maxPrice)
    return false;
  if (odd.test(id) || (id.endsWith('-preview') && models.has(id.slice(0, -'-preview'.length)))) return false;
  return (outputs === undefined || outputs.join() === 'text') && (created ?? addedSince) >= addedSince;
}

/** The same as the `api.json` that models.dev makes of its files. */
function modelsDev(root: string): Json {
  const read = (file: string): Json => parse(readFileSync(file, 'utf8'));
  const api = new Map<string, Record<string, Json>>();
  for (const file of globSync(join(root, 'providers/*/models/**/*.toml')).sort()) {
    if (!existsSync(file)) continue;
    const [, provider = '', , ...name] = relative(root, file)
      .replace(/\.toml$/, '')
      .split('/');
    const row = read(file);
    const named = row['base_model'];
    const base = typeof named === 'string' ? read(join(root, 'models', `${named}.toml`)) : {};
    const limit = { ...(base['limit'] as Json), ...(row['limit'] as Json) };
    api.set(provider, { ...api.get(provider), [name.join('/')]: { ...base, ...row, limit } });
  }
  return Object.fromEntries([...api].map(([provider, models]) => [provider, { models }]));
}
