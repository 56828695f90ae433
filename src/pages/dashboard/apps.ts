import { z } from 'zod';
import { refuse } from '../../errors/catalogue.ts';
import { messages, requirements } from '../../errors/messages.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import { type AppUsage, lastDaysOfApps, usageOfApps } from '../../generations/analytics/app-usage-sql.ts';
import {
  type AppChange,
  changeApp,
  type OwnedApp,
  readAppPreferences,
  readOwnedApps,
} from '../../generations/app-preferences-sql.ts';
import { appName, recognitionOf } from '../../generations/apps.ts';
import { anyListing, searchGenerations } from '../../generations/search-sql.ts';
import type { Database } from '../../store/database.ts';
import { isoOf } from '../../time/clock.ts';
import { isoDay, seoulDayAt } from '../../time/period.ts';
import { type GenerationUuid, generationIdOf } from '../../wire/ids/generation-id.ts';
import { reading } from '../../wire/parse-with.ts';
import type { DashboardContext, PageContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { day, instant, pathId } from '../shapes.ts';
import { usageQueryOf, usageQueryShape, usageSumsBody, usageSumsShape } from '../usage-query.ts';

const maxAppName = 100;
const appRef = z.strictObject({ id: z.int(), name: z.string() });

const appShape = z.strictObject({
  id: z.int().describe('0: requests without an app'),
  name: z.string().describe("The owner's name for it, else the recorded one"),
  recorded_name: z.string(),
  url: z.string().nullable(),
  recognised_by: z.enum(['referer', 'title', 'user_agent', 'none']),
  first_seen_at: instant.nullable(),
  last_seen_on: day.nullable(),
  is_hidden: z.boolean(),
  merged: z.array(appRef).describe('The apps that are merged into this one'),
  sums: usageSumsShape.describe('In the span'),
  models: z.array(z.string()).describe('At most 5, by cost'),
  model_count: z.int(),
});

const detailShape = z.strictObject({
  app: appShape.omit({ sums: true, models: true, model_count: true }),
  last_request: z
    .strictObject({
      id: z.string(),
      created_at: instant,
      title: z.string().nullable(),
      referer: z.string().nullable(),
      user_agent: z.string().nullable(),
    })
    .nullable()
    .describe('The latest request with headers of an app; null: none is stored'),
});

const changeShape = z.object({
  name: reading(
    z.string().meta({ minLength: 1, maxLength: maxAppName }),
    (text) => (text.length <= maxAppName ? appName(text) : null),
    requirements.line(maxAppName),
  )
    .nullable()
    .optional()
    .describe('Null: use the recorded name'),
  is_hidden: z.boolean().optional(),
  merged_into: z.int().min(1).nullable().optional().describe('Null: separate the app'),
});

/**
 * The apps of the account (U4). What an owner renames, merges or hides changes what its own pages
 * show: no record, no sum, no other account and no ranking.
 */
export function appPages(parts: DashboardContext) {
  return [...appReadPages(parts), changePage(parts)];
}

/** The reads of the apps, also for operators (A2). */
export function appReadPages(parts: Pick<PageContext, 'reads' | 'clock'>) {
  const { reads, clock } = parts;
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/apps',
      summary: 'The apps that sent requests, with their usage in a span; hidden ones included',
      query: z.object(usageQueryShape).pick({ range: true, from: true, to: true }),
      response: z.strictObject({
        from: instant,
        to: instant,
        as_of: instant,
        items: z.array(appShape),
      }),
      handle: async ({ session: { accountId }, query }) => {
        const usage = usageQueryOf(query, { accountId, nowMs: clock.now() });
        const apps = await readOwnedApps(reads, accountId);
        const lastDays = await readLastDays(parts, accountId, apps);
        return {
          from: isoOf(usage.fromMs),
          to: isoOf(usage.toMs),
          as_of: isoOf(clock.now()),
          items: itemsOf({ apps, lastDays }, await usageOfApps(reads, usage)),
        };
      },
    }),
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/apps/{id}',
      summary:
        'One app and the headers of its latest request; for a merged app, the app into which it is merged',
      response: detailShape,
      handle: ({ session: { accountId }, params }) => detailOf(parts, accountId, pathId(params.id)),
    }),
  ];
}

function changePage(parts: DashboardContext) {
  return pageRoute({
    method: 'PATCH',
    path: '/dashboard/api/apps/{id}',
    summary: 'Rename, hide or merge an app on the pages of this account',
    body: changeShape,
    response: detailShape,
    handle: async ({ session: { accountId }, params, body }) => {
      const id = pathId(params.id);
      const change: AppChange = {
        ...(body.name === undefined ? {} : { name: body.name }),
        ...(body.is_hidden === undefined ? {} : { isHidden: body.is_hidden }),
        ...(body.merged_into === undefined ? {} : { mergedInto: body.merged_into }),
      };
      const outcome = await parts.database.transaction((sql) => changeApp(sql, accountId, id, change));
      if (outcome === 'not_found') throw noSuchApp();
      if (outcome === 'loop') throw new PageRefusal('conflict', pageMessages.appMergedHere);
      return detailOf(parts, accountId, id);
    },
  });
}

/** The same whether the app does not exist or belongs to another account. */
function noSuchApp(): Error {
  return refuse('not_found', messages.noSuchApp());
}

const noUsage: Omit<AppUsage, 'appId'> = {
  models: [],
  modelCount: 0,
  requests: 0n,
  failures: 0n,
  cost: 0n,
  promptTokens: 0n,
  completionTokens: 0n,
  reasoningTokens: 0n,
  cachedTokens: 0n,
};

/** The apps of an account, with the last day of the requests of each. */
interface SeenApps {
  readonly apps: readonly OwnedApp[];
  readonly lastDays: ReadonlyMap<number, string>;
}

/** The last days of requests since the first app was seen. */
function readLastDays(
  { reads, clock }: Pick<PageContext, 'reads' | 'clock'>,
  accountId: number,
  apps: readonly OwnedApp[],
): Promise<SeenApps['lastDays']> {
  const nowMs = clock.now();
  const fromMs = apps.reduce((first, { firstSeenMs }) => Math.min(first, firstSeenMs), nowMs);
  return lastDaysOfApps(reads, { accountId, fromMs, toMs: nowMs });
}

/** The apps that count for themselves, and the requests of no app. */
function itemsOf(seen: SeenApps, ofApps: readonly AppUsage[]): z.input<typeof appShape>[] {
  const usageOf = new Map(ofApps.map((one) => [one.appId, one]));
  const used = (id: number) => {
    const usage = usageOf.get(id) ?? noUsage;
    return { sums: usageSumsBody(usage), models: [...usage.models], model_count: usage.modelCount };
  };
  const items = seen.apps
    .filter(({ mergedInto }) => mergedInto === null)
    .map((app) => ({ ...appBody(app, seen), ...used(app.id) }));
  return usageOf.has(0) ? [...items, { ...noAppBody, ...used(0) }] : items;
}

const noAppBody = {
  id: 0,
  name: '',
  recorded_name: '',
  url: null,
  recognised_by: 'none' as const,
  first_seen_at: null,
  last_seen_on: null,
  is_hidden: false,
  merged: [],
};

function appBody(app: OwnedApp, { apps, lastDays }: SeenApps): z.input<typeof detailShape>['app'] {
  const merged = apps.filter(({ mergedInto }) => mergedInto === app.id);
  const all = [app, ...merged];
  return {
    id: app.id,
    name: app.name,
    recorded_name: app.recordedName,
    url: app.url,
    recognised_by: recognitionOf({ name: app.recordedName, url: app.url }),
    first_seen_at: isoOf(Math.min(...all.map(({ firstSeenMs }) => firstSeenMs))),
    // A request that was settled late is rolled up some seconds later.
    last_seen_on:
      lastDays.get(app.id) ?? isoDay(seoulDayAt(Math.max(...all.map(({ firstSeenMs }) => firstSeenMs)))),
    is_hidden: app.isHidden,
    merged: merged.map(({ id, name }) => ({ id, name })),
  };
}

async function detailOf(
  parts: Pick<PageContext, 'reads' | 'clock'>,
  accountId: number,
  wantedId: number,
): Promise<z.input<typeof detailShape>> {
  const { reads } = parts;
  const apps = await readOwnedApps(reads, accountId);
  const wanted = apps.find(({ id }) => id === wantedId);
  const app = apps.find(({ id }) => id === (wanted?.mergedInto ?? wantedId));
  if (app === undefined) throw noSuchApp();
  const lastDays = await readLastDays(parts, accountId, apps);
  return {
    app: appBody(app, { apps, lastDays }),
    last_request: await lastRequestOf(reads, accountId, app.id),
  };
}

async function lastRequestOf(reads: Database, accountId: number, appId: number) {
  const preferences = await readAppPreferences(reads, accountId);
  const filter = {
    ...anyListing,
    accountId,
    fromMs: null,
    toMs: null,
    keyHashes: null,
    appIds: preferences.idsOf(appId),
    user: null,
    tag: null,
  };
  const { items } = await searchGenerations(reads, filter, null, 1);
  const [last] = items;
  if (last === undefined) return null;
  return {
    id: generationIdOf(last.uuid as GenerationUuid),
    created_at: isoOf(last.createdAtMs),
    title: last.detail.title ?? null,
    referer: last.detail.http_referer ?? null,
    user_agent: last.detail.user_agent ?? null,
  };
}
