import type { ItemOf } from '../../app/use-pages.ts';

/** A key with its account, as the console shows it. */
export type ConsoleKey = ItemOf<'GET /console/api/keys'>;
