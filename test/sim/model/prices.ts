import { numbersOf } from './arrays.ts';
import { normalized, Selection, type Statement } from './statement.ts';
import type { Tables } from './tables.ts';

const prices = new Selection({
  id: 'id',
  model: 'model',
  candidate: 'candidate',
  prompt: 'prompt',
  completion: 'completion',
  request: 'request',
  cacheRead: 'cache_read',
  cacheWrite: 'cache_write',
  publishedAtMs: 'published_at',
  currency: 'currency',
  per: 'per',
  amounts: 'stated',
  usdKrw: 'usd_krw',
  marginPercent: 'margin_percent',
  factsAsOf: 'facts_as_of',
});
const columns = prices.text;
const editions = new Selection({ id: 'id', offers: 'offers', publishedAtMs: 'published_at' });

function rawOf(row: Tables['price_version']): object {
  return prices.of(row, { id: BigInt(row.id), amounts: JSON.parse(row.stated) });
}

function nameOf({ model, candidate }: Tables['price_version']): string {
  return `${model} ${candidate}`;
}

/** The statements about published prices. */
export const priceStatements: readonly Statement[] = [
  {
    text: 'SELECT pg_advisory_xact_lock($1)',
    locks: (_tx, [number]) => [`advisory ${String(number)}`],
    run: () => [],
  },
  {
    text: `SELECT ${editions.text} FROM catalogue_edition ORDER BY id DESC LIMIT 1`,
    run: (tx) => {
      const rows = [...tx.rows('catalogue_edition')].map(([, row]) => row).sort((a, b) => b.id - a.id);
      return rows
        .slice(0, 1)
        .map((row) => editions.of(row, { id: BigInt(row.id), offers: JSON.parse(row.offers) }));
    },
  },
  {
    text: `SELECT ${columns} FROM price_version WHERE id = ANY($1::bigint[])`,
    run: (tx, [ids]) =>
      numbersOf(ids).flatMap((id) => {
        const row = tx.get('price_version', String(id));
        return row === undefined ? [] : [rawOf(row)];
      }),
  },
  {
    text: `SELECT DISTINCT ON (model, candidate) ${columns} FROM price_version ORDER BY model, candidate, id DESC`,
    run: (tx) => {
      const rows = [...tx.rows('price_version')].map(([, row]) => row).sort((a, b) => a.id - b.id);
      return [...new Map(rows.map((row) => [nameOf(row), row])).values()].map(rawOf);
    },
  },
  {
    text: normalized(`WITH added AS (
      INSERT INTO price_version (model, candidate, prompt, completion, request, cache_read, cache_write, published_at,
        currency, per, stated, usd_krw, margin_percent, facts_as_of)
      VALUES ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000), $9, $10, $11::jsonb, $12, $13, $14::date) RETURNING *)
      UPDATE catalogue_head h SET prices = prices + 1, price_chain = sha256(price_chain || convert_to(a.text, 'UTF8'))
      FROM (SELECT added.id, json_build_array(id, model, candidate, prompt, completion, request, cache_read, cache_write, (extract(epoch FROM published_at) * 1000000)::bigint, currency, per, stated::text, usd_krw, margin_percent, facts_as_of::text)::text AS text FROM added) a RETURNING a.id`),
    locks: () => ['catalogue_head'],
    run: (tx, [model, candidate, prompt, completion, request, cacheRead, cacheWrite, atMs, ...stated]) => {
      const [currency, per, amounts, usdKrw, marginPercent, factsAsOf] = stated;
      const id = tx.store.nextNumber('price_version');
      const text = (value: unknown): string | null => (value === null ? null : String(value));
      tx.put('price_version', String(id), {
        ...{ id, model: String(model), candidate: String(candidate) },
        ...{ prompt: BigInt(String(prompt)), completion: BigInt(String(completion)) },
        request: BigInt(String(request)),
        ...{ cache_read: BigInt(String(cacheRead)), cache_write: BigInt(String(cacheWrite)) },
        ...{ published_at: Number(atMs), currency: String(currency), per: String(per) },
        ...{ stated: String(amounts), usd_krw: text(usdKrw), margin_percent: text(marginPercent) },
        facts_as_of: text(factsAsOf),
      });
      return [{ id: BigInt(id) }];
    },
  },
  {
    text: normalized(`WITH added AS (
      INSERT INTO catalogue_edition (offers, published_at) VALUES ($1::jsonb, to_timestamp($2::float8 / 1000)) RETURNING *)
      UPDATE catalogue_head h SET editions = editions + 1, edition_chain = sha256(edition_chain || convert_to(a.text, 'UTF8'))
      FROM (SELECT added.id, json_build_array(id, offers::text, (extract(epoch FROM published_at) * 1000000)::bigint)::text AS text FROM added) a RETURNING a.id`),
    locks: () => ['catalogue_head'],
    run: (tx, [offers, atMs]) => {
      const id = tx.store.nextNumber('catalogue_edition');
      tx.put('catalogue_edition', String(id), { id, offers: String(offers), published_at: Number(atMs) });
      return [{ id: BigInt(id) }];
    },
  },
];
