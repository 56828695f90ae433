import { readQuery } from '../../api/query.ts';

/** From when the pages warn of the balance. */
export const alertsQuery = readQuery('GET /dashboard/api/alerts', {});
