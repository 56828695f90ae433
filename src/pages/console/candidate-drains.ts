import { z } from 'zod';
import type { Drain } from '../../catalogue/drains-sql.ts';
import { refuse } from '../../errors/catalogue.ts';
import { messages } from '../../errors/messages.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import type { OperatorService } from '../../operations/operator-service.ts';
import { isoOf } from '../../time/clock.ts';
import { pageRoute } from '../page-route.ts';
import { instant } from '../shapes.ts';
import { line } from '../topup-rows.ts';
import { actorOf } from './operators.ts';

/** Since when a candidate takes no new requests, and why. */
export const drainShape = z.strictObject({
  since: instant,
  by: z.string(),
  reason: z.string(),
});

/** Drains a candidate and resumes it (A4). */
export function candidateDrainRow({ operations }: { readonly operations: OperatorService }) {
  return pageRoute({
    method: 'POST',
    path: '/console/api/candidates/drain',
    role: 'admin',
    summary: 'Send a candidate no new requests on any node, or send it requests again',
    body: z.object({
      model: z.string().min(1).max(300),
      candidate: z.string().min(1).max(600),
      drained: z.boolean(),
      reason: line(500),
    }),
    response: z.strictObject({
      drained: z.boolean(),
      changed: z.boolean().describe('False: it was in this state already'),
    }),
    handle: async ({ session, body, changeKey }) => {
      const operator = operations.as(actorOf(session));
      const outcome = await operator.changeDrain({ ...body, idempotencyKey: `page:${changeKey}` });
      if (outcome.kind === 'unknown_candidate') throw refuse('not_found', messages.noSuchCandidate());
      if (outcome.kind === 'conflict')
        throw new PageRefusal('idempotency_conflict', pageMessages.idempotencyConflict);
      return { drained: body.drained, changed: outcome.kind === 'done' };
    },
  });
}

export function drainBody({ atMs, by, reason }: Drain): z.input<typeof drainShape> {
  return { since: isoOf(atMs), by, reason };
}
