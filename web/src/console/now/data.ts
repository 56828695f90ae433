import type { ResponseOf } from '../../api/client.ts';

export type Now = ResponseOf<'GET /console/api/now'>;
export type MoneyToday = ResponseOf<'GET /console/api/now/money'>;
