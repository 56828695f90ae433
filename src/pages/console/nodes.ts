import { z } from 'zod';
import { isLive, listNodes } from '../../nodes/nodes-sql.ts';
import { isoOf } from '../../time/clock.ts';
import type { ConsoleContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { instant } from '../shapes.ts';

/** `GET /console/api/nodes` (A1): who serves from this database. */
export function nodePages({ reads }: ConsoleContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/nodes',
      summary: 'Every node of the database, workers and lost nodes included, the oldest first',
      response: z.strictObject({
        items: z.array(
          z.strictObject({
            id: z.int(),
            address: z.string(),
            started_at: instant,
            silent_ms: z
              .int()
              .describe('The time since the node was last seen, by the clock of the database'),
            is_live: z.boolean(),
            home: z.string().describe('The identity of its data directory'),
          }),
        ),
      }),
      handle: async () => ({
        items: (await listNodes(reads)).map((node) => ({
          id: node.id,
          address: node.address,
          started_at: isoOf(node.startedAtMs),
          silent_ms: Math.max(0, Math.round(node.silentMs)),
          is_live: isLive(node),
          home: node.home,
        })),
      }),
    }),
  ];
}
