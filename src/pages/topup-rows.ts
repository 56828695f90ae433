import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { messages, requirements } from '../errors/messages.ts';
import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal } from '../errors/page-refusal.ts';
import {
  maxPendingTopups,
  readTopups,
  requestTopup,
  type TopupOutcome,
  withdrawTopup,
} from '../ledger/topup-requests.ts';
import { type TopupRequest, topupStates } from '../ledger/topup-requests-sql.ts';
import type { Database } from '../store/database.ts';
import { isoOf, isoOrNull } from '../time/clock.ts';
import { reading } from '../wire/parse-with.ts';
import { integerText } from '../wire/shapes/query.ts';
import type { DashboardContext } from './context.ts';
import { pageOfRows } from './cursor.ts';
import { pageRoute } from './page-route.ts';
import { creditText, instant, micro, pageOf, pathId } from './shapes.ts';

const pageSize = 50;

/** A text that a person reads: not empty, of one line. */
export function line(max: number) {
  return reading(
    z.string().meta({ minLength: 1, maxLength: max }),
    (text) => {
      const trimmed = text.trim();
      return trimmed.length > 0 && trimmed.length <= max && !/\p{Cc}/u.test(trimmed) ? trimmed : null;
    },
    requirements.line(max),
  );
}

/** A request as the pages show it. */
export const topupShape = z.strictObject({
  id: z.int(),
  account_id: z.int(),
  amount_micro: micro,
  state: z.enum(topupStates),
  depositor: z.string().nullable().describe('The name on the transfer'),
  note: z.string().nullable(),
  requested_at: instant,
  decided_at: instant.nullable(),
  decided_by: z.string().nullable(),
  reason: z.string().nullable().describe('The reason of a rejection'),
  bank_reference: z.string().nullable(),
  entry_id: z.int().nullable().describe('The ledger entry of a confirmed request'),
});
const transferShape = z.strictObject({
  bank: z.string(),
  account: z.string(),
  holder: z.string(),
  note: z.string().nullable(),
});
/** Which requests to list. */
export const topupListQuery = z.object({
  state: z.enum(topupStates).optional(),
  cursor: integerText(1).optional(),
});

/** Top-ups of the session's account (U7): request, withdraw, see what was decided. */
export function dashboardTopupPages({ reads, database, clock, config }: DashboardContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/topups/instructions',
      summary: 'How to pay a top-up by bank transfer, as the operator states it',
      response: z.strictObject({
        instructions: z
          .strictObject({ ko: transferShape, en: transferShape })
          .nullable()
          .describe('Null: the operator states nothing'),
        deadline_days: z.int().nullable().describe('From the day of the request'),
        amounts_micro: z.array(micro).describe('What is offered; another amount may be requested'),
      }),
      handle: () => {
        const { instructions = null, deadlineDays = null, amounts = [] } = config().topup ?? {};
        const amounts_micro = amounts.map((won) => String(BigInt(won) * 1_000_000n));
        return { instructions, deadline_days: deadlineDays, amounts_micro };
      },
    }),
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/topups',
      summary: 'Top-up requests, newest first',
      query: topupListQuery,
      response: pageOf(topupShape),
      handle: async ({ session: { accountId }, query }) => {
        const { rows, next } = await readTopupPage(reads, accountId, query);
        return { items: rows.map(shownTopup), next };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/topups',
      summary: 'Request a top-up; an operator confirms it, which adds the credit',
      body: z.object({
        amount_micro: creditText,
        depositor: line(100).optional(),
        note: line(500).optional(),
      }),
      response: topupShape,
      handle: async ({ session: { accountId }, body }) => {
        const order = {
          accountId,
          amount: body.amount_micro,
          depositor: body.depositor ?? null,
          note: body.note ?? null,
        };
        return topupBodyOf(await requestTopup(database, order, clock.now()));
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/topups/{id}/withdraw',
      summary: 'Withdraw a pending request',
      response: topupShape,
      handle: async ({ session: { accountId }, params }) =>
        topupBodyOf(
          await withdrawTopup(
            database,
            { id: pathId(params.id), accountId },
            { name: 'owner', atMs: clock.now() },
          ),
        ),
    }),
  ];
}

/** A page of the requests of an account, or of all accounts. */
export async function readTopupPage(
  reads: Database,
  accountId: number | null,
  { state, cursor }: z.output<typeof topupListQuery>,
) {
  const page = { accountId, state: state ?? null, beforeId: cursor ?? null, limit: pageSize + 1 };
  return pageOfRows(await readTopups(reads, page), pageSize, ({ id }) => id);
}

/** The decided request, or the refusal of the decision. */
export function topupBodyOf(outcome: TopupOutcome): z.input<typeof topupShape> {
  switch (outcome.kind) {
    case 'done':
    case 'repeated':
      return shownTopup(outcome.request);
    case 'not_found':
      throw refuse('not_found', messages.noSuchTopup());
    case 'too_many':
      throw new PageRefusal('conflict', pageMessages.tooManyTopups(maxPendingTopups));
    case 'closed':
      throw new PageRefusal('conflict', pageMessages.accountClosed);
    case 'reference_used':
      throw new PageRefusal('conflict', pageMessages.bankReferenceUsed);
    case 'decided':
      throw new PageRefusal('conflict', pageMessages.topupDecided, {
        extras: { state: outcome.request.state },
      });
  }
}

/** A request in a response. */
export function shownTopup(request: TopupRequest): z.input<typeof topupShape> {
  return {
    id: request.id,
    account_id: request.accountId,
    amount_micro: String(request.amountMicro),
    state: request.state,
    depositor: request.depositor,
    note: request.note,
    requested_at: isoOf(request.requestedAtMs),
    decided_at: isoOrNull(request.decidedAtMs),
    decided_by: request.decidedBy,
    reason: request.reason,
    bank_reference: request.bankReference,
    entry_id: request.entryId,
  };
}
