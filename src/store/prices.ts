import type { Sql } from './sql.ts';

/** The rates of one price version, pico-won per unit. */
export interface PriceRow {
  readonly prompt: bigint;
  readonly completion: bigint;
  readonly request: bigint;
  readonly cacheRead: bigint;
  readonly cacheWrite: bigint;
}

interface RawPrice {
  id: bigint;
  prompt: bigint;
  completion: bigint;
  request: bigint;
  cache_read: bigint;
  cache_write: bigint;
}

/**
 * The id of the version under which this price is in force for a candidate of a model: the latest one when it says the same,
 * otherwise a new one, published at `atMs`.
 */
export async function publishPrice(
  sql: Sql,
  model: string,
  candidate: string,
  price: PriceRow,
  atMs: number,
): Promise<number> {
  const [latest] = await sql.query<RawPrice>(
    'SELECT id, prompt, completion, request, cache_read, cache_write FROM price_version WHERE model = $1 AND candidate = $2 ORDER BY id DESC LIMIT 1',
    [model, candidate],
  );
  if (latest !== undefined && saysTheSame(latest, price)) return Number(latest.id);
  const [row] = await sql.query<{ id: bigint }>(
    `INSERT INTO price_version (model, candidate, prompt, completion, request, cache_read, cache_write, published_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000)) RETURNING id`,
    [
      model,
      candidate,
      price.prompt,
      price.completion,
      price.request,
      price.cacheRead,
      price.cacheWrite,
      atMs,
    ],
  );
  if (row === undefined) throw new Error('INSERT INTO price_version returned no row');
  return Number(row.id);
}

function saysTheSame(row: RawPrice, price: PriceRow): boolean {
  return (
    row.prompt === price.prompt &&
    row.completion === price.completion &&
    row.request === price.request &&
    row.cache_read === price.cacheRead &&
    row.cache_write === price.cacheWrite
  );
}
