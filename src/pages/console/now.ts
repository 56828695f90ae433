import { z } from 'zod';
import { usageBySource } from '../../generations/analytics/usage-sql.ts';
import { marginBySource, marginOf } from '../../operations/margin.ts';
import { isoOf } from '../../time/clock.ts';
import { periodAt } from '../../time/period.ts';
import type { ConsoleContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { instant, micro } from '../shapes.ts';
import { latestOf, SharedPolls } from '../shared-polls.ts';
import type { WatchEvent } from '../watchers.ts';
import { nowBody, nowShape } from './now-body.ts';

const figuresEveryMs = 1_000;
const moneyEveryMs = 10_000;

const moneyShape = z.strictObject({
  as_of: instant,
  from: instant.describe('Midnight in Korean time (KST)'),
  billed_micro: micro,
  unknown_micro: micro.describe('The part at providers whose cost is unknown'),
  upstream_micro: micro.describe('The cost at upstreams of the rest'),
  margin_micro: micro.describe('The rest minus its cost at upstreams'),
  broken: z.strictObject({
    count: z.int().describe('Responses that were interrupted, which are not billed'),
    upstream_micro: micro,
    unknown_count: z.int().describe('The responses at providers whose cost is unknown'),
  }),
});
const eventShape = z.union([nowShape, moneyShape]);

/** The page Now (A1): what this server does at the moment, and the money of all nodes today. */
export function nowPages(parts: ConsoleContext) {
  const figures = new SharedPolls<WatchEvent>(parts.clock, figuresEveryMs);
  const money = new SharedPolls<WatchEvent>(parts.clock, moneyEveryMs);
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/now',
      summary: 'The current activity of the processes of this server',
      response: nowShape,
      handle: () => readNow(parts),
    }),
    pageRoute({
      method: 'GET',
      path: '/console/api/now/money',
      summary: 'The amount billed today on all nodes, and its cost at upstreams',
      response: moneyShape,
      handle: () => readMoney(parts),
    }),
    pageRoute({
      method: 'GET',
      path: '/console/api/now/live',
      summary: 'A live stream of both: event `now` once a second, event `money` every ten seconds',
      response: eventShape,
      format: 'stream',
      handle: (call) =>
        parts.watchers.watch(call, (push) => {
          const stops = [
            figures.join(
              '',
              () => latestOf(async () => ({ event: 'now', data: await readNow(parts) })),
              push,
            ),
            money.join(
              '',
              () => latestOf(async () => ({ event: 'money', data: await readMoney(parts) })),
              push,
            ),
          ];
          return () => {
            for (const stop of stops) stop();
          };
        }),
    }),
  ];
}

async function readNow({ processes, slots, clock }: ConsoleContext): Promise<z.input<typeof nowShape>> {
  const figures = await processes.figures();
  return nowBody(figures, { size: processes.size, slots: slots.statuses(), nowMs: clock.now() });
}

async function readMoney({ reads, clock }: ConsoleContext): Promise<z.input<typeof moneyShape>> {
  const nowMs = clock.now();
  const { startMs, endMs } = periodAt('daily', nowMs);
  const usage = await usageBySource(reads, { accountId: null, fromMs: startMs, toMs: endMs });
  const { billed, billedAtUnknownCost, upstreamCost, broken } = marginOf(await marginBySource(reads, usage));
  return {
    as_of: isoOf(nowMs),
    from: isoOf(startMs),
    billed_micro: String(billed),
    unknown_micro: String(billedAtUnknownCost),
    upstream_micro: String(upstreamCost),
    margin_micro: String(billed - billedAtUnknownCost - upstreamCost),
    broken: {
      count: Number(broken.count),
      upstream_micro: String(broken.upstreamCost),
      unknown_count: Number(broken.countAtUnknownCost),
    },
  };
}
