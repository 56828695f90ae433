import { z } from 'zod';
import { type AppPreferences, readAppPreferences } from '../../generations/app-preferences-sql.ts';
import { type GenerationFilter, searchGenerations } from '../../generations/search-sql.ts';
import type { Database } from '../../store/database.ts';
import type { Clock } from '../../time/clock.ts';
import { integerText } from '../../wire/shapes/query.ts';
import { pageRoute } from '../page-route.ts';
import { polled, type Watchers, type WatchSource } from '../watchers.ts';
import { listingBody, listingShape } from './generation-shape.ts';

/** What following requests needs. */
export interface LiveRequestParts {
  readonly reads: Database;
  readonly clock: Clock;
  readonly watchers: Watchers;
}

const lookEveryMs = 1_000;
/** A request is followed when it ends at most this long after it began. */
const maxFollowedMs = 15 * 60_000;
/**
 * A page that has just read its list gets what ended meanwhile again, and leaves out what it has.
 */
const overlapMs = 10_000;
const maxAtOnce = 50;
/** How many records one look reads: a busy account shows a sample of its latest. */
const maxScanned = 500;

/**
 * `GET /dashboard/api/generations/live` (U3): each request when its record is stored, by whichever
 * node.
 */
export function liveRequestPages(parts: LiveRequestParts) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/generations/live',
      area: 'dashboard',
      credential: 'session',
      summary: 'Requests of all nodes as they end: events `request`, and `end` with a reason',
      query: z.object({
        outcome: z.enum(['ok', 'failed', 'cancelled']).optional(),
        model: z.string().min(1).max(300).optional(),
        provider: z.string().min(1).max(300).optional(),
        key: z
          .string()
          .regex(/^[0-9a-f]{64}$/)
          .optional(),
        app: integerText(0).optional(),
      }),
      response: listingShape,
      format: 'stream',
      handle: (call) =>
        parts.watchers.watch(
          call,
          requestsOf(parts, {
            accountId: call.session.accountId,
            fromMs: null,
            toMs: null,
            outcome: call.query.outcome ?? null,
            status: null,
            errorType: null,
            model: call.query.model ?? null,
            provider: call.query.provider ?? null,
            finishReason: null,
            keyHash: call.query.key ?? null,
            app: call.query.app ?? null,
          }),
        ),
    }),
  ];
}

/** Apps are named and merged as they were when the page began to follow. */
function requestsOf(
  { reads, clock }: LiveRequestParts,
  { app, ...filter }: Omit<GenerationFilter, 'appIds'> & { readonly app: number | null },
): WatchSource {
  let apps: AppPreferences | null = null;
  /**
   * The records that were sent or were there before, by id; those that are too old to be read again
   * are forgotten.
   */
  let seen: ReadonlyMap<string, number> | null = null;
  return polled(clock, lookEveryMs, async (push) => {
    const nowMs = clock.now();
    apps ??= await readAppPreferences(reads, filter.accountId);
    const preferences = apps;
    const page = await searchGenerations(
      reads,
      { ...filter, fromMs: nowMs - maxFollowedMs, appIds: app === null ? null : preferences.idsOf(app) },
      null,
      maxAtOnce,
      maxScanned,
    );
    const known = seen;
    const fresh = page.items.filter(({ uuid, createdAtMs }) =>
      known === null ? createdAtMs >= nowMs - overlapMs : !known.has(uuid),
    );
    seen = new Map(
      [...(known ?? []), ...page.items.map(({ uuid, createdAtMs }) => [uuid, createdAtMs] as const)].filter(
        ([, createdAtMs]) => createdAtMs >= nowMs - maxFollowedMs,
      ),
    );
    for (const row of fresh.toReversed())
      push({ event: 'request', id: row.uuid, data: listingBody(row, preferences) });
  });
}
