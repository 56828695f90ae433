import { z } from 'zod';
import { refuse } from '../../errors/catalogue.ts';
import { messages, requirements } from '../../errors/messages.ts';
import { accountsExist } from '../../ledger/month-lines-sql.ts';
import { marginsOf, shownStatements, statementAmounts } from '../../operations/month-end.ts';
import { isoDay, seoulDayStartMs } from '../../time/period.ts';
import { integerText } from '../../wire/shapes/query.ts';
import type { ConsoleContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { day, micro, month, pageOf } from '../shapes.ts';
import { noSuchAccount } from './account-shape.ts';
import { ledgerCsv } from './ledger-csv.ts';

/** From 1970 to 2999: the days beside them have years of four digits. */
const dayText = day.max(10).regex(/^(?:19[7-9]\d|2\d{3})-/);
const days = { from: dayText, to: dayText.describe('The last day in Korean time (KST)') };
const maxDays = 800;

const statementShape = z.strictObject({
  month,
  account_id: z.int(),
  account_name: z.string(),
  business_number: z.string().nullable(),
  amounts: z.record(z.enum(statementAmounts), micro).describe('As in the columns of `naru usage export`'),
});
const marginShape = z.strictObject({
  month,
  model: z.string(),
  provider: z.string(),
  requests: z.int(),
  billed_micro: micro,
  upstream_micro: micro.nullable().describe('Null: not known'),
  margin_micro: micro.nullable(),
  broken: z.strictObject({ requests: z.int(), upstream_micro: micro.nullable() }),
});

/** Month end: the sums for tax invoices and the margins, on a page and as files, by days in Seoul. */
export function monthEndPages({ reads, clock, config }: ConsoleContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/books/statements',
      summary: 'The sums of each account by month in Korean time, with supply value and VAT',
      query: z.object({ ...days, cursor: integerText(1).optional() }),
      response: pageOf(statementShape),
      handle: async ({ query }) => {
        const accounts = { afterId: query.cursor ?? 0 };
        const items: z.input<typeof statementShape>[] = [];
        for await (const rows of shownStatements(reads, config(), spanOf(query), accounts)) {
          const last = items.at(-1);
          if (rows.length > 0 && last !== undefined) return { items, next: String(last.account_id) };
          items.push(...rows.map((row) => ({ ...row, amounts: inMicro(row.amounts) })));
        }
        return { items, next: null };
      },
    }),
    pageRoute({
      method: 'GET',
      path: '/console/api/books/margin',
      summary:
        'The margin of each model at each provider by month in Korean time, by the prices that billed it',
      query: z.object(days),
      response: z.strictObject({ items: z.array(marginShape) }),
      handle: async ({ query }) => ({
        items: (await Array.fromAsync(marginsOf(reads, spanOf(query), clock.now()))).map((row) => ({
          month: row.month,
          model: row.model,
          provider: row.provider,
          requests: Number(row.requests),
          billed_micro: String(row.billed),
          upstream_micro: microOrNull(row.upstream),
          margin_micro: microOrNull(row.margin),
          broken: {
            requests: Number(row.broken.requests),
            upstream_micro: microOrNull(row.broken.upstream),
          },
        })),
      }),
    }),
    pageRoute({
      method: 'GET',
      path: '/console/api/books/csv',
      summary: 'The entries of the ledger, usage summed by account and day, as a CSV file',
      query: z.object({
        ...days,
        account: integerText(1).optional(),
        language: z.enum(['ko', 'en']).default('ko').describe('Of the headings'),
      }),
      response: z.string(),
      format: 'csv',
      handle: async ({ query: { account = null, language, ...query }, signal }) => {
        const { fromDay, toDay } = spanOf(query);
        if (account !== null && !(await accountsExist(reads, [account]))) throw noSuchAccount();
        const content = account === null ? 'ledger' : `ledger-of-account-${account}`;
        const name = `${content}-${query.from}-${query.to}.csv`;
        return ledgerCsv(reads, { name, language, fromDay, toDay, onlyAccount: account, signal });
      },
    }),
  ];
}

interface Days {
  readonly from: string;
  readonly to: string;
}

/** Half-open: the instants, and the days. */
function spanOf({ from, to }: Days) {
  const first = Date.parse(`${from}T00:00:00Z`) / 86_400_000;
  const end = Date.parse(`${to}T00:00:00Z`) / 86_400_000 + 1;
  if (end <= first || end - first > maxDays)
    throw refuse('invalid_request', messages.invalidValue('to', requirements.lastDay(maxDays)));
  return {
    fromMs: seoulDayStartMs(first),
    toMs: seoulDayStartMs(end),
    fromDay: from,
    toDay: isoDay(end),
  };
}

function inMicro<Name extends string>(amounts: Readonly<Record<Name, bigint>>): Record<Name, string> {
  const texts = Object.entries<bigint>(amounts).map(([name, amount]) => [name, String(amount)]);
  return Object.fromEntries(texts) as Record<Name, string>;
}

function microOrNull(amount: bigint | null): string | null {
  return amount === null ? null : String(amount);
}
