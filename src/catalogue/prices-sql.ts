import type { StatedPrice } from '../config/schema-prices.ts';
import { type Price, type Rate, rateOfPico, type TokenRates } from '../money/price.ts';
import { priceTextSql } from '../store/digests.ts';
import { type Column, column, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

/** A published price. Never changed and never deleted: generations refer to it. */
export interface PriceVersion {
  readonly id: number;
  readonly model: string;
  readonly candidate: string;
  readonly price: Price;
  readonly stated: StatedPrice;
  readonly publishedAtMs: number;
}

/** What the column `stated` holds: what the file states, and the rates that have no column. */
type StatedAmounts = Omit<StatedPrice, 'currency' | 'per' | 'usdKrw' | 'marginPercent' | 'factsAsOf'> & {
  readonly rates?: MoreRates;
};

/** Pico-won as text; a JSON number would be rounded. `ledger verify` reads them too. */
interface MoreRates {
  readonly cacheWrite1h?: string;
  readonly tiers?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Pico-won. */
function rate(sql: string): Column<Rate> {
  return { sql, read: (value) => rateOfPico(value as bigint) };
}

const prices = recordOf({
  id: number('id'),
  model: column<string>('model'),
  candidate: column<string>('candidate'),
  prompt: rate('prompt'),
  completion: rate('completion'),
  request: rate('request'),
  cacheRead: rate('cache_read'),
  cacheWrite: rate('cache_write'),
  publishedAtMs: column<number>('published_at'),
  currency: column<StatedPrice['currency']>('currency'),
  per: column<StatedPrice['per']>('per'),
  amounts: column<StatedAmounts>('stated'),
  usdKrw: column<string | null>('usd_krw'),
  marginPercent: column<string | null>('margin_percent'),
  factsAsOf: column<string | null>('facts_as_of'),
});

/** The latest version of every candidate of every model that ever had one. */
export async function latestPrices(sql: Sql): Promise<readonly PriceVersion[]> {
  const rows = await prices.all(
    sql,
    `SELECT DISTINCT ON (model, candidate) ${prices.columns} FROM price_version ORDER BY model, candidate, id DESC`,
  );
  return rows.map(versionOf);
}

/** The versions with these ids, in no order. */
export async function readPrices(sql: Sql, ids: readonly number[]): Promise<readonly PriceVersion[]> {
  const rows = await prices.all(
    sql,
    `SELECT ${prices.columns} FROM price_version WHERE id = ANY($1::bigint[])`,
    [ids],
  );
  return rows.map(versionOf);
}

/** Every version of one model or of all (null), oldest first. */
export async function readPriceHistory(sql: Sql, model: string | null): Promise<readonly PriceVersion[]> {
  const rows = await prices.all(
    sql,
    `SELECT ${prices.columns} FROM price_version WHERE $1::text IS NULL OR model = $1 ORDER BY id`,
    [model],
  );
  return rows.map(versionOf);
}

/** Published versions before an id, the latest first; of one model or of all (null). */
export async function readPricesBefore(
  sql: Sql,
  {
    model,
    beforeId,
    limit,
  }: { readonly model: string | null; readonly beforeId: number | null; readonly limit: number },
): Promise<readonly PriceVersion[]> {
  const rows = await prices.all(
    sql,
    `SELECT ${prices.columns} FROM price_version WHERE ($1::text IS NULL OR model = $1) AND ($2::bigint IS NULL OR id < $2)
     ORDER BY id DESC LIMIT $3`,
    [model, beforeId, limit],
  );
  return rows.map(versionOf);
}

/** An exchange rate with which prices were published, until the next one. */
export interface PublishedExchange {
  readonly usdKrw: string;
  readonly marginPercent: string;
  readonly sinceMs: number;
}

/** The exchange rates of the published prices, the latest first; one a day for 27 years. */
export function readPublishedExchanges(sql: Sql): Promise<readonly PublishedExchange[]> {
  return sql.query(
    `SELECT usd_krw AS "usdKrw", margin_percent AS "marginPercent", published_at AS "sinceMs" FROM (
       SELECT id, usd_krw, margin_percent, published_at,
              lag(ROW(usd_krw, margin_percent)) OVER (ORDER BY id) IS DISTINCT FROM ROW(usd_krw, margin_percent) AS is_new
       FROM price_version WHERE usd_krw IS NOT NULL
     ) v WHERE is_new ORDER BY id DESC LIMIT 10000`,
  );
}

/** The models that ever had a price. */
export async function readPricedModels(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.query<{ model: string }>('SELECT DISTINCT model FROM price_version ORDER BY model');
  return rows.map((row) => row.model);
}

/** Adds a version and returns its id. The caller has locked the catalogue (`lockCatalogue`). */
export async function insertPrice(
  sql: Sql,
  { model, candidate, price, stated, publishedAtMs }: Omit<PriceVersion, 'id'>,
): Promise<number> {
  const { currency, per, usdKrw, marginPercent, factsAsOf, ...amounts } = stated;
  const rates = [price.prompt, price.completion, price.request, price.cacheRead, price.cacheWrite];
  const [row] = await sql.query<{ id: bigint }>(
    `WITH added AS (
       INSERT INTO price_version (model, candidate, prompt, completion, request, cache_read, cache_write, published_at,
         currency, per, stated, usd_krw, margin_percent, facts_as_of)
       VALUES ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000), $9, $10, $11::jsonb, $12, $13, $14::date) RETURNING *)
     UPDATE catalogue_head h SET prices = prices + 1, price_chain = sha256(price_chain || convert_to(a.text, 'UTF8'))
     FROM (SELECT added.id, ${priceTextSql} AS text FROM added) a RETURNING a.id`,
    [
      ...[model, candidate, ...rates, publishedAtMs],
      ...[
        currency,
        per,
        JSON.stringify({ ...amounts, ...moreRatesOf(price) }),
        usdKrw,
        marginPercent,
        factsAsOf,
      ],
    ],
  );
  if (row === undefined) throw new Error('INSERT INTO price_version returned no row');
  return Number(row.id);
}

function versionOf(row: RowOf<typeof prices>): PriceVersion {
  const {
    id,
    model,
    candidate,
    publishedAtMs,
    amounts,
    currency,
    per,
    usdKrw,
    marginPercent,
    factsAsOf,
    ...rates
  } = row;
  const { rates: more = {}, ...stated } = amounts;
  return {
    ...{ id, model, candidate, publishedAtMs },
    price: { ...rates, ...readMoreRates(more) },
    stated: { currency, per, ...stated, usdKrw, marginPercent, factsAsOf },
  };
}

function moreRatesOf({ cacheWrite1h, tiers }: Price): { readonly rates?: MoreRates } {
  if (cacheWrite1h === undefined && tiers === undefined) return {};
  const texts = (rates: TokenRates): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, String(rate)]));
  return {
    rates: {
      ...(cacheWrite1h !== undefined && { cacheWrite1h: String(cacheWrite1h) }),
      ...(tiers !== undefined && {
        tiers: Object.fromEntries(Object.entries(tiers).map(([tier, rates]) => [tier, texts(rates)])),
      }),
    },
  };
}

function readMoreRates({ cacheWrite1h, tiers }: MoreRates): Pick<Price, 'cacheWrite1h' | 'tiers'> {
  const ratesOf = (texts: Readonly<Record<string, string>>): TokenRates =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, rateOfPico(BigInt(text))]),
    ) as unknown as TokenRates;
  return {
    ...(cacheWrite1h !== undefined && { cacheWrite1h: rateOfPico(BigInt(cacheWrite1h)) }),
    ...(tiers !== undefined && {
      tiers: Object.fromEntries(Object.entries(tiers).map(([tier, texts]) => [tier, ratesOf(texts)])),
    }),
  };
}
