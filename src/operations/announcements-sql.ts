import { column, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

/** How urgent an announcement is. */
export const announcementLevels = ['info', 'warning', 'critical'] as const;
export type AnnouncementLevel = (typeof announcementLevels)[number];

const announcements = recordOf({
  id: number('id'),
  level: column<AnnouncementLevel>('level'),
  ko: column<string>('text_ko'),
  en: column<string>('text_en'),
  fromMs: column<number>('from_at'),
  toMs: column<number | null>('to_at'),
  createdAtMs: column<number>('created_at'),
  createdBy: column<string>('created_by'),
});

/** An announcement as stored. It is shown from `fromMs` until before `toMs`; null: until it is taken back. */
export type Announcement = RowOf<typeof announcements>;
/** The text, and when it is shown. */
export type AnnouncementText = Omit<Announcement, 'id' | 'createdAtMs' | 'createdBy'>;

export async function insertAnnouncement(
  sql: Sql,
  { level, ko, en, fromMs, toMs }: AnnouncementText,
  by: { readonly name: string; readonly atMs: number },
): Promise<Announcement> {
  const made = await announcements.first(
    sql,
    `INSERT INTO announcement (level, text_ko, text_en, from_at, to_at, created_at, created_by)
     VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000), to_timestamp($5::float8 / 1000), to_timestamp($6::float8 / 1000), $7)
     RETURNING ${announcements.columns}`,
    [level, ko, en, fromMs, toMs, by.atMs, by.name],
  );
  return made as Announcement;
}

/**
 * Takes an announcement back at an instant; one that has not begun yet is never shown. Null when
 * there is none, or it has ended.
 */
export function takeBackAnnouncement(sql: Sql, id: number, atMs: number): Promise<Announcement | null> {
  return announcements.first(
    sql,
    `UPDATE announcement SET to_at = to_timestamp($2::float8 / 1000),
       from_at = least(from_at, to_timestamp($2::float8 / 1000) - interval '1 millisecond')
     WHERE id = $1 AND (to_at IS NULL OR to_at > to_timestamp($2::float8 / 1000)) RETURNING ${announcements.columns}`,
    [id, atMs],
  );
}

/** The announcements that are shown at an instant, the most urgent first. */
export function findShownAnnouncements(
  sql: Sql,
  atMs: number,
  limit: number,
): Promise<readonly Announcement[]> {
  return announcements.all(
    sql,
    `SELECT ${announcements.columns} FROM announcement
     WHERE from_at <= to_timestamp($1::float8 / 1000) AND (to_at IS NULL OR to_at > to_timestamp($1::float8 / 1000))
     ORDER BY array_position(ARRAY['critical', 'warning', 'info'], level), id DESC LIMIT $2`,
    [atMs, limit],
  );
}

/** The newest announcements with an id below `beforeId`, ended ones included. */
export function listAnnouncements(
  sql: Sql,
  page: { readonly beforeId: number | null; readonly limit: number },
): Promise<readonly Announcement[]> {
  return announcements.all(
    sql,
    `SELECT ${announcements.columns} FROM announcement WHERE $1::bigint IS NULL OR id < $1 ORDER BY id DESC LIMIT $2`,
    [page.beforeId, page.limit],
  );
}
