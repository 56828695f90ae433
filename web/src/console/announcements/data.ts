import type { ItemOf } from '../../app/use-pages.ts';

/** An announcement with its state. */
export type Announcement = ItemOf<'GET /console/api/announcements'>;
