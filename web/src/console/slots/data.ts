import type { ResponseOf } from '../../api/client.ts';

export type SlotsNow = ResponseOf<'GET /console/api/slots'>;
export type Slot = SlotsNow['slots'][number];
