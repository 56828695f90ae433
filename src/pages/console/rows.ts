import { z } from 'zod';
import { isoOf } from '../../time/clock.ts';
import { type AnyPageRoute, pageRoute } from '../page-route.ts';
import { roles } from '../page-session.ts';
import { instant } from '../shapes.ts';
import { consoleTopupPages, type TopupPageParts } from '../topup-rows.ts';
import { type UsagePageParts, usagePages } from '../usage-rows.ts';

/** What the rows of the console need. Handlers use it; the rows themselves can be made without. */
export type ConsoleParts = UsagePageParts & TopupPageParts;

/** Every row of the console's API. */
export function consoleRows(parts: ConsoleParts): readonly AnyPageRoute[] {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/me',
      area: 'console',
      credential: 'session',
      summary: 'The operator who is signed in',
      response: z.strictObject({
        operator_id: z.int(),
        name: z.string(),
        role: z.enum(roles),
        as_of: instant,
      }),
      handle: ({ session: { operatorId, name, role } }) => ({
        operator_id: operatorId,
        name,
        role,
        as_of: isoOf(parts.clock.now()),
      }),
    }),
    ...usagePages('console', parts),
    ...consoleTopupPages(parts),
  ];
}
