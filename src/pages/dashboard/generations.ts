import { z } from 'zod';
import { readKeyById } from '../../accounts/keys.ts';
import { readPrices } from '../../catalogue/prices-sql.ts';
import { refuse } from '../../errors/catalogue.ts';
import { messages } from '../../errors/messages.ts';
import { readAppPreferences } from '../../generations/app-preferences-sql.ts';
import { findGeneration, findRefusal } from '../../generations/generations-sql.ts';
import { type GenerationFilter, searchGenerations } from '../../generations/search-sql.ts';
import { refundedOf } from '../../ledger/ledger-sql.ts';
import type { Database } from '../../store/database.ts';
import type { GenerationRow } from '../../store/generation-row.ts';
import { type GenerationUuid, parseGenerationId } from '../../wire/ids/generation-id.ts';
import { generationOfRequest } from '../../wire/ids/request-id.ts';
import type { DashboardContext } from '../context.ts';
import { cursorOf, readCursor } from '../cursor.ts';
import { listingFilterOf, ownListingQueryShape, requestListShape, tagOf } from '../generation-query.ts';
import { pageRoute } from '../page-route.ts';
import { pageOf } from '../shapes.ts';
import { detailBody, detailShape, listingBody, listingShape } from './generation-shape.ts';

type RecordReads = Pick<DashboardContext, 'reads' | 'settlements'>;

/** The requests of the account: a list with filters (U3), and one in full (U3d). */
export function generationPages(parts: RecordReads) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/generations',
      summary: 'Requests, newest first; a page may be short although more follow',
      query: z.object({ ...requestListShape, ...ownListingQueryShape }),
      response: pageOf(listingShape),
      handle: async ({ session: { accountId }, query }) => {
        if (query.find !== undefined)
          return { items: await foundItems(parts, accountId, query.find), next: null };
        const apps = await readAppPreferences(parts.reads, accountId);
        const filter: GenerationFilter = {
          accountId,
          fromMs: query.from ?? null,
          toMs: query.to ?? null,
          ...listingFilterOf(query),
          keyHashes: query.key ?? null,
          appIds: query.app?.flatMap((id) => apps.idsOf(id)) ?? null,
          user: query.user ?? null,
          tag: tagOf(query),
        };
        const before = query.cursor === undefined ? null : readCursor(query.cursor, uuidOf);
        const { items, next } = await searchGenerations(parts.reads, filter, before, query.limit);
        return {
          items: items.map((row) => listingBody(row, apps)),
          next: next === null ? null : cursorOf([next]),
        };
      },
    }),
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/generations/{id}',
      summary: 'One request: its attempts, and the calculation of its cost',
      response: detailShape,
      handle: async ({ session: { accountId }, params: { id } }) => {
        const row = await findRow(parts, accountId, id);
        if (row === null) throw refuse('not_found', messages.noSuchGeneration());
        return bodyOf(parts.reads, row);
      },
    }),
  ];
}

/** The record of a cursor. */
export function uuidOf([uuid]: readonly unknown[]): string | null {
  return typeof uuid === 'string' && /^[0-9a-f]{32}$/.test(uuid) ? uuid : null;
}

/**
 * A record of this account by the id of its generation, or of a request, also one that was refused.
 */
async function findRow(
  { reads, settlements }: RecordReads,
  accountId: number,
  id: string,
): Promise<GenerationRow | null> {
  const asRequest = generationOfRequest(id);
  const uuid: GenerationUuid | null = parseGenerationId(id) ?? asRequest;
  if (uuid === null) return null;
  const pending = settlements.find(uuid);
  if (pending?.accountId === accountId) return pending;
  const row = await findGeneration(reads, accountId, uuid);
  if (row !== null || asRequest === null) return row;
  return findRefusal(reads, accountId, asRequest);
}

/** The request of an account with this id, in a list. */
export async function foundItems(parts: RecordReads, accountId: number, id: string) {
  const row = await findRow(parts, accountId, id.trim());
  return row === null ? [] : [(await bodyOf(parts.reads, row)).listing];
}

async function bodyOf(reads: Database, row: GenerationRow) {
  const { accountId, keyId, priceVersion } = row;
  const key = await readKeyById(reads, keyId);
  const [price] = priceVersion === null ? [] : await readPrices(reads, [priceVersion]);
  return detailBody(row, {
    key: key === null ? null : { hash: key.hash, name: key.name, label: key.label },
    price: price ?? null,
    refunded: await refundedOf(reads, accountId, row.uuid),
    apps: await readAppPreferences(reads, accountId),
  });
}
