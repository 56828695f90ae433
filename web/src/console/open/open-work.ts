import type { ResponseOf } from '../../api/client.ts';

/** The requests in flight, and the settlements that are not in the database. */
export type OpenWork = ResponseOf<'GET /console/api/now/open'>;
export type OpenRequest = OpenWork['requests'][number];
export type Unsettled = OpenWork['unsettled'][number];
export type Phase = OpenRequest['phase'];
