import { z } from 'zod';
import { findAccount } from '../../accounts/accounts-sql.ts';
import { readRequestHours } from '../../generations/analytics/request-hours-sql.ts';
import { type RequestSpans, spansOfRequests } from '../../generations/analytics/request-spans.ts';
import { AppPreferences } from '../../generations/app-preferences-sql.ts';
import { accountOfRequest, searchAllGenerations } from '../../generations/search-all-sql.ts';
import { arrivalMs, lowestIdAt } from '../../generations/search-sql.ts';
import type { Database } from '../../store/database.ts';
import { parseGenerationId } from '../../wire/ids/generation-id.ts';
import { generationOfRequest } from '../../wire/ids/request-id.ts';
import type { ConsoleContext } from '../context.ts';
import { cursorOf, readCursor } from '../cursor.ts';
import { listingBody, listingShape } from '../dashboard/generation-shape.ts';
import { foundItems, uuidOf } from '../dashboard/generations.ts';
import { listingFilterOf, requestListShape } from '../generation-query.ts';
import { pageRoute } from '../page-route.ts';
import { pageOf } from '../shapes.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const defaultSpanMs = 30 * dayMs;
const maxSpanMs = 800 * dayMs;
const recentSpanMs = 2 * dayMs;
/** The records that one page looks at, about. */
const maxScanned = 50_000;

const rowShape = z.strictObject({
  ...listingShape.shape,
  account: z.strictObject({ id: z.int(), name: z.string() }),
});

/** Apps as the requests stated them: what owners changed about them is theirs. */
const asStated = new AppPreferences([]);

/** The requests of all accounts, to which the figures of the service lead (A1). */
export function allGenerationPages(parts: ConsoleContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/generations',
      summary: 'Requests of all accounts, newest first; a page may be short although more follow',
      query: z.object({
        ...requestListShape,
        from: requestListShape.from.describe('30 days before the end unless stated'),
      }),
      response: pageOf(rowShape),
      handle: async ({ query }) => {
        if (query.find !== undefined) return { items: await foundOf(parts, query.find), next: null };
        const toMs = Math.min(query.to ?? Number.POSITIVE_INFINITY, parts.clock.now() + dayMs);
        const span = { fromMs: Math.max(query.from ?? toMs - defaultSpanMs, toMs - maxSpanMs), toMs };
        const before = query.cursor === undefined ? lowestIdAt(toMs) : readCursor(query.cursor, uuidOf);
        const filter = { ...listingFilterOf(query), ...span };
        return searched(parts, filter, before, query.limit);
      },
    }),
  ];
}

type Filter = ReturnType<typeof listingFilterOf> & { readonly fromMs: number; readonly toMs: number };

async function searched({ reads }: ConsoleContext, filter: Filter, before: string, limit: number) {
  // An id has the instant of the arrival, a record that of its beginning.
  const ids = { fromMs: filter.fromMs - arrivalMs, toMs: Number.parseInt(before.slice(0, 12), 16) + 1 };
  const { spans, nextMs } = await spansIn(reads, filter, ids, limit + 1);
  const [first, ...rest] = spans.map(({ fromMs, toMs }) => ({
    fromId: lowestIdAt(fromMs),
    toId: lowestIdAt(toMs),
  }));
  const looked = first === undefined ? [] : [{ ...first, toId: earlier(first.toId, before) }, ...rest];
  const rows = await searchAllGenerations(reads, filter, looked, limit + 1);
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1)?.uuid : nextMs === null ? undefined : lowestIdAt(nextMs);
  return {
    items: shown.map((row) => ({ ...listingBody(row, asStated), account: row.account })),
    next: last === undefined ? null : cursorOf([last]),
  };
}

/** Where to look: in the last days if they have enough, since the hours of a month are many rows. */
async function spansIn(
  reads: Database,
  filter: Filter,
  ids: { readonly fromMs: number; readonly toMs: number },
  wanted: number,
): Promise<RequestSpans> {
  const look = async (fromMs: number): Promise<RequestSpans> => {
    const known = await readRequestHours(reads, filter, { fromMs, toMs: ids.toMs + 2 * hourMs });
    return spansOfRequests(known, { fromMs, toMs: ids.toMs, wanted, maxScanned });
  };
  const recentMs = ids.toMs - recentSpanMs;
  const recent = recentMs > ids.fromMs ? await look(recentMs) : null;
  // Null: the days before may have matches too.
  return recent === null || recent.nextMs === null ? look(ids.fromMs) : recent;
}

function earlier(one: string, other: string): string {
  return one < other ? one : other;
}

/** A request of any account by the id of its generation or its own. */
async function foundOf({ reads }: ConsoleContext, text: string) {
  const id = text.trim();
  const uuid = parseGenerationId(id) ?? generationOfRequest(id);
  const accountId = uuid === null ? null : await accountOfRequest(reads, uuid);
  if (accountId === null) return [];
  const account = await findAccount(reads, accountId);
  const items = await foundItems({ reads, settlements: { find: () => undefined } }, accountId, id);
  return items.map((item) => ({ ...item, account: { id: accountId, name: account?.name ?? '' } }));
}
