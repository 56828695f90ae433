import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal } from '../errors/page-refusal.ts';
import {
  type Announcement,
  announcementLevels,
  findShownAnnouncements,
  listAnnouncements,
} from '../operations/announcements-sql.ts';
import { isoOf, isoOrNull } from '../time/clock.ts';
import { integerText } from '../wire/shapes/query.ts';
import { actorOf } from './console/operators.ts';
import type { ConsoleContext, PageContext } from './context.ts';
import { pageOfRows } from './cursor.ts';
import { pageRoute } from './page-route.ts';
import { instant, instantText, pageOf, pathId } from './shapes.ts';
import { line } from './topup-rows.ts';

const pageSize = 50;
/** More than this many at once would not be read. */
const maxShown = 3;
const text = z.strictObject({ ko: z.string(), en: z.string() });
const shownShape = z.strictObject({ id: z.int(), level: z.enum(announcementLevels), text });
const states = ['scheduled', 'shown', 'ended'] as const;
const announcementShape = shownShape.extend({
  state: z.enum(states),
  from: instant,
  to: instant.nullable().describe('Null: until it is withdrawn'),
  created_at: instant,
  created_by: z.string(),
});

/** What operators announce now (A12), on every page of the dashboard. */
export function dashboardAnnouncementPages({ reads, clock }: PageContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/announcements',
      summary: 'The current announcements, the most urgent first',
      response: z.strictObject({ items: z.array(shownShape) }),
      handle: async () => ({
        items: (await findShownAnnouncements(reads, clock.now(), maxShown)).map(({ id, level, ko, en }) => ({
          id,
          level,
          text: { ko, en },
        })),
      }),
    }),
  ];
}

/** Announcements: list, make, take back (A12). */
export function consoleAnnouncementPages({ reads, clock, operations }: ConsoleContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/announcements',
      summary: 'All announcements, newest first',
      query: z.object({ cursor: integerText(1).optional() }),
      response: pageOf(announcementShape),
      handle: async ({ query: { cursor = null } }) => {
        const found = await listAnnouncements(reads, { beforeId: cursor, limit: pageSize + 1 });
        const { rows, next } = pageOfRows(found, pageSize, ({ id }) => id);
        return { items: rows.map((one) => shown(one, clock.now())), next };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/announcements',
      role: 'admin',
      summary: 'Create an announcement for every page of the dashboard',
      body: z.object({
        level: z.enum(announcementLevels),
        text: z.object({ ko: line(500), en: line(500) }),
        from: instantText.optional().describe('Absent: now'),
        to: instantText.optional().describe('Absent: until it is withdrawn'),
      }),
      response: announcementShape,
      handle: async ({ session, body }) => {
        const nowMs = clock.now();
        const fromMs = body.from ?? nowMs;
        const toMs = body.to ?? null;
        if (toMs !== null && toMs <= Math.max(fromMs, nowMs))
          throw new PageRefusal('conflict', pageMessages.announcementEnds);
        const made = await operations
          .as(actorOf(session))
          .announce({ level: body.level, ...body.text, fromMs, toMs });
        return shown(made, nowMs);
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/announcements/{id}/end',
      role: 'admin',
      summary: 'Withdraw an announcement',
      response: announcementShape,
      handle: async ({ session, params }) => {
        const ended = await operations.as(actorOf(session)).takeBackAnnouncement(pathId(params.id));
        if (ended === null) throw refuse('not_found', messages.noSuchAnnouncement());
        return shown(ended, clock.now());
      },
    }),
  ];
}

function shown(one: Announcement, nowMs: number): z.input<typeof announcementShape> {
  const { id, level, ko, en, fromMs, toMs, createdAtMs, createdBy } = one;
  return {
    id,
    level,
    text: { ko, en },
    state: stateOf(one, nowMs),
    from: isoOf(fromMs),
    to: isoOrNull(toMs),
    created_at: isoOf(createdAtMs),
    created_by: createdBy,
  };
}

function stateOf({ fromMs, toMs }: Announcement, nowMs: number): (typeof states)[number] {
  if (toMs !== null && toMs <= nowMs) return 'ended';
  return fromMs > nowMs ? 'scheduled' : 'shown';
}
