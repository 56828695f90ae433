import { z } from 'zod';
import { findAccounts } from '../../accounts/accounts-sql.ts';
import { refuse } from '../../errors/catalogue.ts';
import { messages } from '../../errors/messages.ts';
import { listQuarantined } from '../../ledger/quarantine-sql.ts';
import { isoOf, isoOrNull } from '../../time/clock.ts';
import { type GenerationUuid, generationIdOf, parseGenerationId } from '../../wire/ids/generation-id.ts';
import type { ConsoleContext } from '../context.ts';
import { cursorOf, pageOfRows, readCursor } from '../cursor.ts';
import { pageRoute } from '../page-route.ts';
import { instant, micro, pageOf } from '../shapes.ts';
import { line } from '../topup-rows.ts';
import { actorOf } from './operators.ts';

const pageSize = 100;

/**
 * The settlements that the database rejected (A1, A11), with the decisions that `naru ledger retry`
 * and `write-off` make.
 */
export function quarantinePages(parts: ConsoleContext) {
  return [listPage(parts), ...decisionPages(parts)];
}

function listPage({ reads }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/quarantine',
    summary: 'Settlements that the database rejected, the oldest first',
    query: z.object({
      all: z.literal('1').optional().describe('Also those that were settled or written off since'),
      cursor: z.string().max(200).optional(),
    }),
    response: pageOf(
      z.strictObject({
        id: z.string(),
        account: z.strictObject({ id: z.int(), name: z.string() }),
        cost_micro: micro,
        quarantined_at: instant,
        attempts: z.int(),
        reason: z.string().describe('The error of the database'),
        decision: z.enum(['settled', 'written_off']).nullable().describe('Null: it waits for one'),
        decided_at: instant.nullable(),
        note: z.string().nullable(),
      }),
    ),
    handle: async ({ query }) => {
      const after = query.cursor === undefined ? null : readCursor(query.cursor, placeOf);
      const found = await listQuarantined(reads, query.all !== undefined, pageSize + 1, after);
      const { rows, next } = pageOfRows(found, pageSize, ({ uuid }) => cursorOf([uuid]));
      const accounts = await findAccounts(reads, [...new Set(rows.map((one) => one.accountId))]);
      const names = new Map(accounts.map(({ accountId, name }) => [accountId, name]));
      return {
        items: rows.map((entry) => ({
          id: generationIdOf(entry.uuid as GenerationUuid),
          account: { id: entry.accountId, name: names.get(entry.accountId) ?? '' },
          cost_micro: String(entry.cost),
          quarantined_at: isoOf(entry.quarantinedAtMs),
          attempts: entry.attempts,
          reason: entry.reason,
          decision: entry.resolution === 'written off' ? ('written_off' as const) : entry.resolution,
          decided_at: isoOrNull(entry.resolvedAtMs),
          note: entry.note,
        })),
        next,
      };
    },
  });
}

function decisionPages({ operations }: ConsoleContext) {
  return [
    pageRoute({
      method: 'POST',
      path: '/console/api/quarantine/{id}/retry',
      role: 'admin',
      summary: 'Settle a rejected settlement again',
      body: z.object({ reason: line(500) }),
      response: z.strictObject({
        settled: z.boolean(),
        reason: z.string().nullable().describe('Why the database still rejects it'),
      }),
      handle: async ({ session, params, body }) => {
        const uuid = uuidOf(params.id);
        const outcome = await operations.as(actorOf(session)).retryQuarantined(uuid, body.reason);
        const reason = outcome.get(uuid);
        if (reason === undefined) throw refuse('not_found', messages.noSuchQuarantined());
        return { settled: reason === null, reason };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/quarantine/{id}/write-off',
      role: 'admin',
      summary: 'Write a rejected settlement off: it is never charged',
      body: z.object({ reason: line(500) }),
      response: z.strictObject({ written_off: z.literal(true) }),
      handle: async ({ session, params, body }) => {
        const uuid = uuidOf(params.id);
        const operator = operations.as(actorOf(session));
        if (!(await operator.writeOffQuarantined({ uuid, reason: body.reason })))
          throw refuse('not_found', messages.noSuchQuarantined());
        return { written_off: true as const };
      },
    }),
  ];
}

function uuidOf(id: string): GenerationUuid {
  const uuid = parseGenerationId(id);
  if (uuid === null) throw refuse('not_found', messages.noSuchQuarantined());
  return uuid;
}

function placeOf([uuid]: readonly unknown[]): string | null {
  return typeof uuid === 'string' && /^[0-9a-f-]{32,36}$/.test(uuid) ? uuid : null;
}
