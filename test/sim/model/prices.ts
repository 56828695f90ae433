import type * as prices from '../../../src/catalogue/prices-sql.ts';
import type * as publications from '../../../src/catalogue/publications-sql.ts';
import { on } from './step.ts';

export * from '../../../src/catalogue/prices-sql.ts';
export * from '../../../src/catalogue/publications-sql.ts';

export const lockCatalogue: typeof publications.lockCatalogue = (sql) =>
  on(
    sql,
    () => {},
    () => ['catalogue'],
  );

export const lastPublication: typeof publications.lastPublication = (sql) =>
  on(sql, (tx) => {
    const last = [...tx.rows('catalogue_edition')].map(([, row]) => row).sort((a, b) => b.id - a.id)[0];
    if (last === undefined) return null;
    return { id: last.id, offers: JSON.parse(last.offers), publishedAtMs: last.published_at };
  });

export const insertPublication: typeof publications.insertPublication = (sql, offers, atMs) =>
  on(sql, (tx) => {
    const id = tx.store.nextNumber('catalogue_edition');
    tx.put('catalogue_edition', String(id), { id, offers: JSON.stringify(offers), published_at: atMs });
    return id;
  });

export const readPrices: typeof prices.readPrices = (sql, ids) =>
  on(sql, (tx) => ids.flatMap((id) => tx.get('price_version', String(id))?.version ?? []));

export const latestPrices: typeof prices.latestPrices = (sql) =>
  on(sql, (tx) => {
    const versions = [...tx.rows('price_version')].map(([, { version }]) => version);
    versions.sort((a, b) => a.id - b.id);
    return [...new Map(versions.map((each) => [`${each.model} ${each.candidate}`, each])).values()];
  });

export const insertPrice: typeof prices.insertPrice = (sql, added) =>
  on(sql, (tx) => {
    const id = tx.store.nextNumber('price_version');
    const { model, candidate, price } = added;
    tx.put('price_version', String(id), {
      ...{ id, model, candidate, version: { ...added, id } },
      ...{ prompt: price.prompt, completion: price.completion, request: price.request },
      ...{ cache_read: price.cacheRead, cache_write: price.cacheWrite },
    });
    return id;
  });
