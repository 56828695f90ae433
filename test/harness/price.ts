import { priceTextSql } from '../../src/store/digests.ts';
import type { Sql } from '../../src/store/sql.ts';

/** Rates of a price version that a test inserts into the ledger directly, pico-won. */
export interface HandPrice {
  readonly prompt?: bigint;
  readonly completion?: bigint;
  readonly request?: bigint;
  readonly cacheRead?: bigint;
  readonly cacheWrite?: bigint;
}

/** Adds a price version, past the catalogue, and returns its id. What is not stated is free. */
export async function insertPrice(sql: Sql, price: HandPrice): Promise<number> {
  const { prompt = 0n, completion = 0n, request = 0n, cacheRead = 0n, cacheWrite = 0n } = price;
  const [row] = await sql.query<{ id: bigint }>(
    `WITH added AS (
       INSERT INTO price_version (model, candidate, prompt, completion, request, cache_read, cache_write, published_at, currency, per, stated)
       VALUES ('test/by-hand', 'test', $1, $2, $3, $4, $5, now(), 'KRW', '1M', '{}') RETURNING *)
     UPDATE catalogue_head h SET prices = prices + 1, price_chain = sha256(price_chain || convert_to(a.text, 'UTF8'))
     FROM (SELECT added.id, ${priceTextSql} AS text FROM added) a RETURNING a.id`,
    [prompt, completion, request, cacheRead, cacheWrite],
  );
  return Number(row?.id);
}
