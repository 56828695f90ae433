import { z } from 'zod';
import { type AppPreferences, readAppPreferences } from '../../generations/app-preferences-sql.ts';
import {
  type GenerationListing,
  passes,
  readListings,
  recentGenerationIds,
} from '../../generations/search-sql.ts';
import type { Database } from '../../store/database.ts';
import type { DashboardContext } from '../context.ts';
import { listingFilterOf, listingQueryShape, ownListingQueryShape, tagOf } from '../generation-query.ts';
import { pageRoute } from '../page-route.ts';
import { type Poll, SharedPolls } from '../shared-polls.ts';
import type { WatchEvent } from '../watchers.ts';
import { listingBody, listingShape } from './generation-shape.ts';

const lookEveryMs = 1_000;
/** A request is followed when it ends at most this long after it began. */
const maxFollowedMs = 15 * 60_000;
/**
 * A page that has just read its list gets what ended meanwhile again, and leaves out what it has.
 */
const overlapMs = 10_000;
const maxAtOnce = 100;
/** How many records one look knows: a busy account shows a sample of its latest. */
const maxKnown = 500;

/**
 * `GET /dashboard/api/generations/live` (U3): each request when its record is stored, by whichever
 * node.
 */
export function liveRequestPages(parts: DashboardContext) {
  const polls = new SharedPolls<Followed>(parts.clock, lookEveryMs);
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/generations/live',
      summary: 'Requests of all nodes as they end: events `request`, and `end` with a reason',
      query: z.object({ ...listingQueryShape, ...ownListingQueryShape }),
      response: listingShape,
      format: 'stream',
      handle: (call) => {
        const { accountId } = call.session;
        const { key: keyHashes = null, app, user = null } = call.query;
        const filter = { ...listingFilterOf(call.query), keyHashes, user, tag: tagOf(call.query) };
        return parts.watchers.watch(call, (push) =>
          polls.join(
            String(accountId),
            () => recordsOf(parts, accountId),
            ({ row, apps, event }) => {
              if (passes(row, { ...filter, appIds: app?.flatMap((id) => apps.idsOf(id)) ?? null }))
                push(event);
            },
          ),
        );
      },
    }),
  ];
}

/** A record that was just stored, and how the account names its apps. */
interface Followed {
  readonly row: GenerationListing;
  readonly apps: AppPreferences;
  /** What every watcher gets. */
  readonly event: WatchEvent;
}

/** The records of an account as they are stored, for all its watchers. */
function recordsOf({ reads, clock }: DashboardContext, accountId: number): Poll<Followed> {
  /** The ids that were read before; null at first. */
  let known: ReadonlySet<string> | null = null;
  let recent: readonly Followed[] = [];
  return {
    read: async () => {
      const oldestMs = clock.now() - overlapMs;
      const ids = await recentGenerationIds(reads, accountId, clock.now() - maxFollowedMs, maxKnown);
      const fresh = ids.filter((id) => known?.has(id) !== true).slice(0, maxAtOnce);
      const shown = (await readFollowed(reads, accountId, fresh)).filter(
        ({ row }) => known !== null || row.createdAtMs >= oldestMs,
      );
      known = new Set(ids);
      recent = [...recent, ...shown].filter(({ row }) => row.createdAtMs >= oldestMs).slice(-maxAtOnce);
      return shown;
    },
    present: () => recent,
  };
}

async function readFollowed(
  reads: Database,
  accountId: number,
  uuids: readonly string[],
): Promise<readonly Followed[]> {
  if (uuids.length === 0) return [];
  const apps = await readAppPreferences(reads, accountId);
  return (await readListings(reads, accountId, uuids)).map((row) => ({
    row,
    apps,
    event: { event: 'request', id: row.uuid, data: listingBody(row, apps) },
  }));
}
