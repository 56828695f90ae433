import { editionTextSql } from '../store/digests.ts';
import { column, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

/** One candidate of one model, as an edition of the catalogue offers it. */
export interface PublishedCandidate {
  readonly model: string;
  readonly candidate: string;
  readonly priceVersion: number;
}

const publications = recordOf({
  id: number('id'),
  offers: column<readonly PublishedCandidate[]>('offers'),
  publishedAtMs: column<number>('published_at'),
});

/**
 * What the catalogue offers from an instant on. Editions are only added; the last one is current.
 */
export type PricePublication = RowOf<typeof publications>;

/** An arbitrary constant: the advisory lock that lets one process publish at a time. */
const catalogueLock = 7_236_482_618;

/** Locks the catalogue until the transaction ends: the next publication sees this one. */
export async function lockCatalogue(sql: Sql): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock($1)', [catalogueLock]);
}

/** The current edition; null before the first. */
export function lastPublication(sql: Sql): Promise<PricePublication | null> {
  return publications.first(
    sql,
    `SELECT ${publications.columns} FROM catalogue_edition ORDER BY id DESC LIMIT 1`,
  );
}

/** Adds an edition and returns its id. The caller has locked the catalogue. */
export async function insertPublication(
  sql: Sql,
  offers: readonly PublishedCandidate[],
  atMs: number,
): Promise<number> {
  const [row] = await sql.query<{ id: bigint }>(
    `WITH added AS (
       INSERT INTO catalogue_edition (offers, published_at) VALUES ($1::jsonb, to_timestamp($2::float8 / 1000)) RETURNING *)
     UPDATE catalogue_head h SET editions = editions + 1, edition_chain = sha256(edition_chain || convert_to(a.text, 'UTF8'))
     FROM (SELECT added.id, ${editionTextSql} AS text FROM added) a RETURNING a.id`,
    [JSON.stringify(offers), atMs],
  );
  if (row === undefined) throw new Error('INSERT INTO catalogue_edition returned no row');
  return Number(row.id);
}
