import { setBusinessNumber } from '../accounts/accounts-sql.ts';
import type { Config } from '../config/config.ts';
import type { HourSpan } from '../generations/analytics/facts-sql.ts';
import { type RebuiltSpan, UsageRoller } from '../generations/analytics/roll-usage.ts';
import { audited, recordAfter } from './audited.ts';
import type { ExportSpan } from './exports.ts';
import { type ExportRow, exportMargin, exportStatements } from './month-end.ts';
import type { OperationsContext } from './operations-context.ts';

const hourMs = 3_600_000;

/** Rebuilds the hourly sums of usage. */
export function usageOperations(context: OperationsContext) {
  return {
    /** Computes the hours of a period again, or all; yields each part when it is committed. */
    rebuildUsage: (period: Partial<HourSpan>): AsyncIterable<RebuiltSpan> => rebuildUsage(context, period),

    /** Sets or removes the business number of an account; false when there is no account. */
    setBusinessNumber: async (accountId: number, businessNumber: string | null): Promise<boolean> => {
      const act = { act: 'account.business_number', accountId };
      const before = await audited<string | null | undefined>(context, (found) =>
        found === undefined || found === businessNumber
          ? null
          : { ...act, before: { business_number: found }, after: { business_number: businessNumber } },
      ).transaction((sql) => setBusinessNumber(sql, accountId, businessNumber));
      return before !== undefined;
    },

    /** Rows for tax invoices: each account in each Seoul month. */
    exportStatements: (span: ExportSpan, onlyAccount: number | null): AsyncIterable<ExportRow> =>
      exportStatements(context.database, configOf(context), span, onlyAccount),

    /** What each model earned at each provider in each Seoul month; without bounds of this month. */
    exportMargin: (span: ExportSpan): AsyncIterable<ExportRow> =>
      exportMargin(context.database, span, context.clock.now()),
  };
}

function configOf({ catalogue }: OperationsContext): Config {
  if (catalogue === undefined) throw new Error('there is no configuration');
  return catalogue.config;
}

async function* rebuildUsage(
  context: OperationsContext,
  period: Partial<HourSpan>,
): AsyncGenerator<RebuiltSpan> {
  const { database, clock } = context;
  let hours = 0;
  for await (const span of new UsageRoller({ database, clock }).rebuild(period)) {
    hours += (span.toMs - span.fromMs) / hourMs;
    yield span;
  }
  await recordAfter(context, { act: 'usage.rebuild', after: { hours } });
}
