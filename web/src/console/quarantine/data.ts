import type { ItemOf } from '../../app/use-pages.ts';

export type Quarantined = ItemOf<'GET /console/api/quarantine'>;
