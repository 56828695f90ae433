import type { Act } from '../identity/audit.ts';
import { isoOf } from '../time/clock.ts';
import {
  type Announcement,
  type AnnouncementText,
  insertAnnouncement,
  takeBackAnnouncement,
} from './announcements-sql.ts';
import { audited } from './audited.ts';
import type { OperationsContext } from './operations-context.ts';

/** Announces to account owners on every page of the dashboard. */
export function announcementOperations(context: OperationsContext) {
  const { clock, actor } = context;
  return {
    announce: (text: AnnouncementText): Promise<Announcement> =>
      audited<Announcement>(context, (made) => actOn('announcement.create', made)).transaction((sql) =>
        insertAnnouncement(sql, text, { name: actor.name, atMs: clock.now() }),
      ),

    /** Null when there is none, or it has ended. */
    takeBackAnnouncement: (id: number): Promise<Announcement | null> =>
      audited<Announcement | null>(context, (ended) =>
        ended === null ? null : actOn('announcement.end', ended),
      ).transaction((sql) => takeBackAnnouncement(sql, id, clock.now())),
  };
}

function actOn(act: string, { id, level, ko, en, fromMs, toMs }: Announcement): Act {
  return {
    act,
    subject: `announcement ${id}`,
    after: { level, ko, en, from: isoOf(fromMs), to: toMs === null ? null : isoOf(toMs) },
  };
}
