import type { Config } from '../config/config.ts';
import { usageBySource } from '../generations/analytics/usage-sql.ts';
import { monthStatements } from '../ledger/month-statement.ts';
import { krwOfMicro, krwToDecimal } from '../money/krw.ts';
import type { Database } from '../store/database.ts';
import { isoDay, periodAt, seoulDayAt } from '../time/period.ts';
import type { Cell } from '../wire/csv.ts';
import type { ExportSpan } from './exports.ts';
import { marginBySource } from './margin.ts';

/** A row of a file by its columns; amounts are won with six decimals. */
export type ExportRow = Readonly<Record<string, Cell>>;

export const statementColumns = [
  'month',
  'account_id',
  'account_name',
  'business_number',
  'topups_krw',
  'bonuses_krw',
  'usage_krw',
  'usage_paid_krw',
  'usage_bonus_krw',
  'expired_paid_krw',
  'expired_bonus_krw',
  'refunds_krw',
  'adjustments_krw',
  'change_krw',
  'taxable_krw',
  'supply_value_krw',
  'vat_krw',
] as const;

/** The statements of months as rows of a file: usage and expiry above zero, the change as in the ledger. */
export async function* exportStatements(
  database: Database,
  { vat }: Pick<Config, 'vat'>,
  { fromMs, toMs }: ExportSpan,
  onlyAccount: number | null,
): AsyncGenerator<ExportRow> {
  const days = {
    fromDay: fromMs === null ? '1970-01-01' : isoDay(seoulDayAt(fromMs)),
    toDay: toMs === null ? '9999-12-31' : isoDay(seoulDayAt(toMs)),
  };
  for await (const rows of monthStatements(database, days, onlyAccount, vat))
    for (const row of rows) {
      const { topups, bonuses, usage, usageOfBonus, expiredPaid, expiredBonus, refunds, adjustments } = row;
      yield {
        month: row.month,
        account_id: row.accountId,
        account_name: row.accountName,
        business_number: row.businessNumber?.replace(/^(...)(..)/, '$1-$2-') ?? null,
        ...inWon({
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
        }),
      };
    }
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

/**
 * The margin of each model at each provider by Seoul month, at the prices of the configuration; an
 * amount that is not known is empty. What broke off is billed to nobody, and has columns of its own.
 */
export async function* exportMargin(
  database: Database,
  config: Config,
  span: ExportSpan,
  nowMs: number,
): AsyncGenerator<ExportRow> {
  const tomorrowMs = periodAt('daily', nowMs).endMs;
  const toMs = Math.min(span.toMs ?? tomorrowMs, tomorrowMs);
  let fromMs = span.fromMs ?? periodAt('monthly', toMs - 1).startMs;
  while (fromMs < toMs) {
    const endMs = Math.min(toMs, periodAt('monthly', fromMs).endMs);
    const usage = await usageBySource(database, { accountId: null, fromMs, toMs: endMs });
    const sources = Map.groupBy(marginBySource(usage, config), (row) => `${row.model}\n${row.provider}`);
    for (const rows of sources.values()) {
      const [first] = rows;
      const sold = rows.filter(({ isBroken }) => !isBroken);
      const broken = rows.filter(({ isBroken }) => isBroken);
      const billed = sumOf(rows.map(({ cost }) => cost)) ?? 0n;
      const upstream = sumOf(sold.map((row) => row.upstream));
      const lost = sumOf(broken.map((row) => row.upstream));
      yield {
        month: isoDay(seoulDayAt(fromMs)).slice(0, 7),
        model: first?.model ?? '',
        provider: first?.provider ?? '',
        requests: String(sumOf(rows.map(({ requests }) => requests))),
        ...inWon({
          billed,
          upstream,
          margin: upstream === null || lost === null ? null : billed - upstream - lost,
        }),
        broken_requests: String(sumOf(broken.map(({ requests }) => requests))),
        ...inWon({ broken_upstream: lost }),
      };
    }
    fromMs = endMs;
  }
}

/** Null when one of them is not known. */
function sumOf(amounts: readonly (bigint | null)[]): bigint | null {
  return amounts.reduce((sum, amount) => (sum === null || amount === null ? null : sum + amount), 0n);
}

function inWon(amounts: Readonly<Record<string, bigint | null>>): Readonly<Record<string, string | null>> {
  return Object.fromEntries(
    Object.entries(amounts).map(([name, micro]) => [
      `${name}_krw`,
      micro === null ? null : krwToDecimal(krwOfMicro(micro)),
    ]),
  );
}
