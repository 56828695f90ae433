import type { ResponseOf } from '../../api/client.ts';

/** A key, as the API sends it. */
export type KeyRow = ResponseOf<'GET /dashboard/api/keys'>['items'][number];
export type KeyKind = KeyRow['kind'];
export type LimitReset = KeyRow['limit_reset'];

export const limitResets = ['never', 'daily', 'weekly', 'monthly'] as const;

/** What one page of keys reads. */
export const keysQueryKey = ['GET /dashboard/api/keys'] as const;
