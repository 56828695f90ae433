import { z } from 'zod';
import { entryKinds } from '../../ledger/ledger-sql.ts';
import { type LedgerLine, type LineFilter, type LinePlace, listLines } from '../../ledger/lines-sql.ts';
import { isoOrNull, parseInstant } from '../../time/clock.ts';
import { monthOf } from '../../time/period.ts';
import { type GenerationUuid, generationIdOf } from '../../wire/ids/generation-id.ts';
import type { PageContext } from '../context.ts';
import { cursorOf, pageOfRows, readCursor } from '../cursor.ts';
import { pageRoute } from '../page-route.ts';
import { day, instant, micro, month, pageOf } from '../shapes.ts';

const pageSize = 100;

const lineShape = z.strictObject({
  id: z.string(),
  day,
  kind: z.enum(entryKinds),
  amount_micro: micro.describe('Signed: credit is positive, usage is negative'),
  balance_micro: micro.describe('The balance after this line'),
  requests: z.int().nullable().describe('The number of requests of a day of usage'),
  generation_id: z.string().nullable().describe('The request that a refund returns'),
  created_at: instant.nullable().describe('Null for the usage of a day, which is the last line of the day'),
});

const filters = { month: month.optional(), kind: z.enum(entryKinds).optional() };

/** The transactions of the account (U8): its ledger entries, and its usage by day. */
export function ledgerPages({ reads }: PageContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/ledger',
      summary: 'Transactions, newest first, usage summed by day',
      query: z.object({ ...filters, cursor: z.string().max(200).optional() }),
      response: pageOf(lineShape),
      handle: async ({ session: { accountId }, query }) => {
        const before = query.cursor === undefined ? null : readCursor(query.cursor, placeOf);
        const lines = await listLines(reads, filterOf(accountId, query), before, pageSize + 1);
        const { rows, next } = pageOfRows(lines, pageSize, (last) => cursorOf([last.day, last.entryId]));
        return { items: rows.map(bodyOf), next };
      },
    }),
  ];
}

function filterOf(
  accountId: number,
  query: { readonly month?: string | undefined; readonly kind?: LineFilter['kind'] | undefined },
): LineFilter {
  const span = query.month === undefined ? null : monthOf(query.month);
  return {
    accountId,
    fromDay: span?.startDay ?? null,
    toDay: span?.endDay ?? null,
    kind: query.kind ?? null,
  };
}

function placeOf([on, entryId]: readonly unknown[]): LinePlace | null {
  if (typeof on !== 'string' || parseInstant(`${on}T00:00:00Z`) === null) return null;
  if (entryId !== null && !Number.isSafeInteger(entryId)) return null;
  return { day: on, entryId: entryId as number | null };
}

function bodyOf(line: LedgerLine): z.input<typeof lineShape> {
  return {
    id: line.entryId === null ? `usage-${line.day}` : `entry-${line.entryId}`,
    day: line.day,
    kind: line.kind,
    amount_micro: String(line.amountMicro),
    balance_micro: String(line.balanceMicro),
    requests: line.requests,
    generation_id: generationOf(line),
    created_at: isoOrNull(line.createdAtMs),
  };
}

function generationOf({ refundOf }: LedgerLine): string | null {
  return refundOf === null ? null : generationIdOf(refundOf as GenerationUuid);
}
