import { editionTextSql } from '../store/digests.ts';
import type { Sql } from '../store/sql.ts';

/** One candidate of one model, as an edition of the catalogue offers it. */
export interface PublishedCandidate {
  readonly model: string;
  readonly candidate: string;
  readonly priceVersion: number;
}

/**
 * What the catalogue offers from an instant on. Editions are only added; the last one is current.
 */
export interface PricePublication {
  readonly id: number;
  readonly offers: readonly PublishedCandidate[];
  readonly publishedAtMs: number;
}

/** An arbitrary constant: the advisory lock that lets one process publish at a time. */
const catalogueLock = 7_236_482_618;

/** Locks the catalogue until the transaction ends: the next publication sees this one. */
export async function lockCatalogue(sql: Sql): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock($1)', [catalogueLock]);
}

/** The current edition; null before the first. */
export async function lastPublication(sql: Sql): Promise<PricePublication | null> {
  const [row] = await sql.query<{ id: bigint; offers: readonly RawOffer[]; published_at: number }>(
    'SELECT id, offers, published_at FROM catalogue_edition ORDER BY id DESC LIMIT 1',
  );
  if (row === undefined) return null;
  const offers = row.offers.map(({ model, candidate, price_version }) => ({
    model,
    candidate,
    priceVersion: price_version,
  }));
  return { id: Number(row.id), offers, publishedAtMs: row.published_at };
}

/** Adds an edition and returns its id. The caller has locked the catalogue. */
export async function insertPublication(
  sql: Sql,
  offers: readonly PublishedCandidate[],
  atMs: number,
): Promise<number> {
  const raw = offers.map(
    ({ model, candidate, priceVersion }): RawOffer => ({ model, candidate, price_version: priceVersion }),
  );
  const [row] = await sql.query<{ id: bigint }>(
    `WITH added AS (
       INSERT INTO catalogue_edition (offers, published_at) VALUES ($1::jsonb, to_timestamp($2::float8 / 1000)) RETURNING *)
     UPDATE catalogue_head h SET editions = editions + 1, edition_chain = sha256(edition_chain || convert_to(a.text, 'UTF8'))
     FROM (SELECT added.id, ${editionTextSql} AS text FROM added) a RETURNING a.id`,
    [JSON.stringify(raw), atMs],
  );
  if (row === undefined) throw new Error('INSERT INTO catalogue_edition returned no row');
  return Number(row.id);
}

interface RawOffer {
  readonly model: string;
  readonly candidate: string;
  readonly price_version: number;
}
