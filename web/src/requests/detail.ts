import type { ResponseOf } from '../api/client.ts';

/** One request, as the API sends it. */
export type Detail = ResponseOf<'GET /dashboard/api/generations/{id}'>;
