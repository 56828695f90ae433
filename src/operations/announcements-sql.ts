import type { Sql } from '../store/sql.ts';

/** How urgent an announcement is. */
export const announcementLevels = ['info', 'warning', 'critical'] as const;
export type AnnouncementLevel = (typeof announcementLevels)[number];

/**
 * The text, and when it is shown: from `fromMs` until before `toMs`; null: until it is taken back.
 */
export interface AnnouncementText {
  readonly level: AnnouncementLevel;
  readonly ko: string;
  readonly en: string;
  readonly fromMs: number;
  readonly toMs: number | null;
}

/** An announcement as stored. */
export interface Announcement extends AnnouncementText {
  readonly id: number;
  readonly createdAtMs: number;
  readonly createdBy: string;
}

interface RawAnnouncement {
  readonly id: bigint;
  readonly level: AnnouncementLevel;
  readonly text_ko: string;
  readonly text_en: string;
  readonly from_at: number;
  readonly to_at: number | null;
  readonly created_at: number;
  readonly created_by: string;
}

export async function insertAnnouncement(
  sql: Sql,
  { level, ko, en, fromMs, toMs }: AnnouncementText,
  by: { readonly name: string; readonly atMs: number },
): Promise<Announcement> {
  const rows = await sql.query<RawAnnouncement>(
    `INSERT INTO announcement (level, text_ko, text_en, from_at, to_at, created_at, created_by)
     VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000), to_timestamp($5::float8 / 1000), to_timestamp($6::float8 / 1000), $7)
     RETURNING *`,
    [level, ko, en, fromMs, toMs, by.atMs, by.name],
  );
  return announcementOf(rows[0] as RawAnnouncement);
}

/**
 * Takes an announcement back at an instant; one that has not begun yet is never shown. Null when
 * there is none, or it has ended.
 */
export async function takeBackAnnouncement(sql: Sql, id: number, atMs: number): Promise<Announcement | null> {
  const [row] = await sql.query<RawAnnouncement>(
    `UPDATE announcement SET to_at = to_timestamp($2::float8 / 1000),
       from_at = least(from_at, to_timestamp($2::float8 / 1000) - interval '1 millisecond')
     WHERE id = $1 AND (to_at IS NULL OR to_at > to_timestamp($2::float8 / 1000)) RETURNING *`,
    [id, atMs],
  );
  return row === undefined ? null : announcementOf(row);
}

/** The announcements that are shown at an instant, the most urgent first. */
export async function findShownAnnouncements(
  sql: Sql,
  atMs: number,
  limit: number,
): Promise<readonly Announcement[]> {
  const rows = await sql.query<RawAnnouncement>(
    `SELECT * FROM announcement
     WHERE from_at <= to_timestamp($1::float8 / 1000) AND (to_at IS NULL OR to_at > to_timestamp($1::float8 / 1000))
     ORDER BY array_position(ARRAY['critical', 'warning', 'info'], level), id DESC LIMIT $2`,
    [atMs, limit],
  );
  return rows.map(announcementOf);
}

/** The newest announcements with an id below `beforeId`, ended ones included. */
export async function listAnnouncements(
  sql: Sql,
  page: { readonly beforeId: number | null; readonly limit: number },
): Promise<readonly Announcement[]> {
  const rows = await sql.query<RawAnnouncement>(
    'SELECT * FROM announcement WHERE $1::bigint IS NULL OR id < $1 ORDER BY id DESC LIMIT $2',
    [page.beforeId, page.limit],
  );
  return rows.map(announcementOf);
}

function announcementOf(row: RawAnnouncement): Announcement {
  return {
    id: Number(row.id),
    level: row.level,
    ko: row.text_ko,
    en: row.text_en,
    fromMs: row.from_at,
    toMs: row.to_at,
    createdAtMs: row.created_at,
    createdBy: row.created_by,
  };
}
