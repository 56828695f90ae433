import type { Config } from '../config/config.ts';
import { usageBySource } from '../generations/analytics/usage-sql.ts';
import { listDayBalances, listLines } from '../ledger/lines-sql.ts';
import { atOneInstant } from '../ledger/month-lines-sql.ts';
import { type MonthStatement, monthStatements } from '../ledger/month-statement.ts';
import { krwOfMicro, krwToDecimal } from '../money/krw.ts';
import type { Database } from '../store/database.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import { isoDay, monthOf, periodAt, seoulDayAt, seoulDayStartMs } from '../time/period.ts';
import type { Cell } from '../wire/csv.ts';
import type { ExportSpan } from './exports.ts';
import { marginBySource } from './margin.ts';

/** A row of a file by its columns; amounts are won with six decimals. */
export type ExportRow = Readonly<Record<string, Cell>>;

/** The amounts of a statement; usage and expiry above zero, the change as in the ledger. */
export const statementAmounts = [
  'topups',
  'bonuses',
  'usage',
  'usage_paid',
  'usage_bonus',
  'expired_paid',
  'expired_bonus',
  'refunds',
  'adjustments',
  'change',
  'taxable',
  'supply_value',
  'vat',
] as const;
const account = ['account_id', 'account_name', 'business_number'] as const;
/** More than a month has: a line a day, and what people did. */
const maxLines = 20_000;
export const statementColumns = ['month', ...account, ...statementAmounts.map(krw)];

/** A statement as files and pages show it; micro-won. */
export interface ShownStatement {
  readonly month: string;
  readonly account_id: number;
  readonly account_name: string;
  /** With hyphens. */
  readonly business_number: string | null;
  readonly amounts: Readonly<Record<(typeof statementAmounts)[number], bigint>>;
}

/** The statements of accounts in the Seoul months of a span, some accounts at a time. */
export async function* shownStatements(
  database: Sql & Transactions,
  { vat }: Pick<Config, 'vat'>,
  { fromMs, toMs }: ExportSpan,
  accounts: { readonly onlyAccount?: number | null; readonly afterId?: number },
): AsyncGenerator<readonly ShownStatement[]> {
  const days = {
    fromDay: fromMs === null ? '1970-01-01' : isoDay(seoulDayAt(fromMs)),
    toDay: toMs === null ? '9999-12-31' : isoDay(seoulDayAt(toMs)),
  };
  for await (const rows of monthStatements(database, days, accounts, vat)) yield rows.map(shownStatement);
}

/** The sums of an account in a Seoul month, its lines and its balances, of one instant (spec:money/3.12). */
export function accountStatement(
  database: Transactions,
  config: Pick<Config, 'vat'>,
  { accountId, month }: { readonly accountId: number; readonly month: string },
) {
  const { startDay, endDay } = monthOf(month);
  const span = { fromMs: seoulDayStartMs(startDay), toMs: seoulDayStartMs(endDay) };
  return atOneInstant(database, async (sql) => {
    const [[sums] = []] = await Array.fromAsync(
      shownStatements(sql, config, span, { onlyAccount: accountId }),
    );
    const days = { accountId, fromDay: startDay, toDay: endDay };
    const newest = await listLines(sql, { ...days, kind: null }, null, maxLines);
    const [before] = await listDayBalances(sql, { ...days, toDay: startDay }, 1);
    const opening = before?.balanceMicro ?? 0n;
    const zero = Object.fromEntries(statementAmounts.map((name) => [name, 0n]));
    return {
      opening,
      closing: newest[0]?.balanceMicro ?? opening,
      amounts: sums?.amounts ?? (zero as ShownStatement['amounts']),
      lines: newest.toReversed(),
    };
  });
}

function shownStatement(row: MonthStatement): ShownStatement {
  const { topups, bonuses, usage, usageOfBonus, expiredPaid, expiredBonus, refunds, adjustments } = row;
  return {
    month: row.month,
    account_id: row.accountId,
    account_name: row.accountName,
    business_number: row.businessNumber?.replace(/^(...)(..)/, '$1-$2-') ?? null,
    amounts: {
      topups,
      bonuses,
      usage: -usage,
      usage_paid: usageOfBonus - usage,
      usage_bonus: -usageOfBonus,
      expired_paid: -expiredPaid,
      expired_bonus: -expiredBonus,
      refunds,
      adjustments,
      change: topups + bonuses + usage + expiredPaid + expiredBonus + refunds + adjustments,
      taxable: row.taxable,
      supply_value: row.supply,
      vat: row.vat,
    },
  };
}

/** The statements as rows of a file. */
export async function* exportStatements(
  database: Database,
  config: Pick<Config, 'vat'>,
  span: ExportSpan,
  onlyAccount: number | null,
): AsyncGenerator<ExportRow> {
  for await (const rows of shownStatements(database, config, span, { onlyAccount }))
    for (const { amounts, ...row } of rows) yield { ...row, ...inWon(amounts) };
}

export const marginColumns = [
  'month',
  'model',
  'provider',
  'requests',
  'billed_krw',
  'upstream_krw',
  'margin_krw',
  'broken_requests',
  'broken_upstream_krw',
] as const;

/** What a model earned at a provider in a Seoul month; micro-won, null where it is not known. */
export interface SourceMargin {
  readonly month: string;
  readonly model: string;
  readonly provider: string;
  readonly requests: bigint;
  readonly billed: bigint;
  readonly upstream: bigint | null;
  readonly margin: bigint | null;
  /** What broke off is billed to nobody. */
  readonly broken: { readonly requests: bigint; readonly upstream: bigint | null };
}

/** The margin of each model at each provider by Seoul month, by the prices that billed it. */
export async function* marginsOf(
  database: Database,
  span: ExportSpan,
  nowMs: number,
): AsyncGenerator<SourceMargin> {
  const tomorrowMs = periodAt('daily', nowMs).endMs;
  const toMs = Math.min(span.toMs ?? tomorrowMs, tomorrowMs);
  let fromMs = span.fromMs ?? periodAt('monthly', toMs - 1).startMs;
  while (fromMs < toMs) {
    const endMs = Math.min(toMs, periodAt('monthly', fromMs).endMs);
    const usage = await usageBySource(database, { accountId: null, fromMs, toMs: endMs });
    const sources = Map.groupBy(
      await marginBySource(database, usage),
      (row) => `${row.model}\n${row.provider}`,
    );
    for (const rows of sources.values()) {
      const [first] = rows;
      const broken = rows.filter(({ isBroken }) => isBroken);
      const billed = sumOf(rows.map(({ cost }) => cost)) ?? 0n;
      const upstream = sumOf(rows.filter(({ isBroken }) => !isBroken).map((row) => row.upstream));
      const lost = sumOf(broken.map((row) => row.upstream));
      yield {
        month: isoDay(seoulDayAt(fromMs)).slice(0, 7),
        model: first?.model ?? '',
        provider: first?.provider ?? '',
        requests: sumOf(rows.map(({ requests }) => requests)) ?? 0n,
        billed,
        upstream,
        margin: upstream === null || lost === null ? null : billed - upstream - lost,
        broken: { requests: sumOf(broken.map(({ requests }) => requests)) ?? 0n, upstream: lost },
      };
    }
    fromMs = endMs;
  }
}

/** The margins as rows of a file; an amount that is not known is empty. */
export async function* exportMargin(
  database: Database,
  span: ExportSpan,
  nowMs: number,
): AsyncGenerator<ExportRow> {
  for await (const { requests, billed, upstream, margin, broken, ...row } of marginsOf(database, span, nowMs))
    yield {
      ...row,
      requests: String(requests),
      ...inWon({ billed, upstream, margin }),
      broken_requests: String(broken.requests),
      ...inWon({ broken_upstream: broken.upstream }),
    };
}

/** Null when one of them is not known. */
function sumOf(amounts: readonly (bigint | null)[]): bigint | null {
  return amounts.reduce((sum, amount) => (sum === null || amount === null ? null : sum + amount), 0n);
}

function inWon(amounts: Readonly<Record<string, bigint | null>>): Readonly<Record<string, string | null>> {
  return Object.fromEntries(
    Object.entries(amounts).map(([name, micro]) => [
      krw(name),
      micro === null ? null : krwToDecimal(krwOfMicro(micro)),
    ]),
  );
}

function krw(name: string): string {
  return `${name}_krw`;
}
