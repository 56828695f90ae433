import { z } from 'zod';
import { type Alerts, readAlerts, setAlerts } from '../../accounts/alerts-sql.ts';
import { requirements } from '../../errors/messages.ts';
import { isoOrNull } from '../../time/clock.ts';
import { must } from '../../wire/parse-with.ts';
import type { DashboardContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { creditText, instant, micro } from '../shapes.ts';

const maxDays = 365;
const days = must(requirements.integer(1, maxDays));
const alertsShape = z.strictObject({
  low_balance_micro: micro.nullable().describe('The pages warn below this balance; null: never'),
  min_days_left: z
    .int()
    .nullable()
    .describe('The pages warn when the balance is expected to last for fewer days; null: never'),
  updated_at: instant.nullable().describe('Null: not set, the default applies'),
});

/** From when the pages of the account warn of its balance (U7, U12). */
export function alertPages({ reads, database, clock }: DashboardContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/alerts',
      summary: 'The thresholds of the balance alerts',
      response: alertsShape,
      handle: async ({ session: { accountId } }) => bodyOf(await readAlerts(reads, accountId)),
    }),
    pageRoute({
      method: 'PUT',
      path: '/dashboard/api/alerts',
      summary: 'Set the thresholds of the balance alerts',
      body: z.object({
        low_balance_micro: creditText.nullable(),
        min_days_left: z
          .int({ error: days })
          .min(1, { error: days })
          .max(maxDays, { error: days })
          .nullable(),
      }),
      response: alertsShape,
      handle: async ({ session: { accountId }, body }) => {
        const alerts = { lowBalanceMicro: body.low_balance_micro, minDaysLeft: body.min_days_left };
        const nowMs = clock.now();
        await database.transaction((sql) => setAlerts(sql, accountId, alerts, nowMs));
        return bodyOf({ ...alerts, updatedAtMs: nowMs });
      },
    }),
  ];
}

function bodyOf({ lowBalanceMicro, minDaysLeft, updatedAtMs }: Alerts): z.input<typeof alertsShape> {
  return {
    low_balance_micro: lowBalanceMicro === null ? null : String(lowBalanceMicro),
    min_days_left: minDaysLeft,
    updated_at: isoOrNull(updatedAtMs),
  };
}
