import type { Command } from 'commander';
import type { RebuiltSpan } from '../../generations/analytics/roll-usage.ts';
import { krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import { marginColumns, statementColumns } from '../../operations/month-end.ts';
import { isoDay, periodAt, seoulDayAt } from '../../time/period.ts';
import { accountId, seoulDay } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import {
  assertAccount,
  type CommonOptions,
  type ExportFlags,
  spanOf,
  withCommonOptions,
  withMonthOptions,
  withOperatorService,
} from '../options.ts';
import type { Row } from '../output.ts';

const dayColumns = ['day', 'hours', 'requests', 'cost_krw'];

/** `naru usage export|margin|rebuild`. */
export function addUsageCommands(program: Command, cli: CliContext): void {
  const usage = program
    .command('usage')
    .description('export the sums of months; rebuild the hourly sums that the pages show')
    .helpCommand(false);

  withMonthOptions(usage.command('export'))
    .description(
      'the sums of each account by month in Seoul time, with supply value and VAT: those of the ledger, as rows for tax invoices',
    )
    .option('--account <id>', 'only this account', accountId)
    .action((flags: ExportFlags & { readonly account?: number }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { account } = flags;
        if (account !== undefined) await assertAccount(operator, account);
        await output.rows(statementColumns, operator.exportStatements(spanOf(flags), account ?? null));
      }),
    );

  withMonthOptions(usage.command('margin'))
    .description(
      'what each model earned at each provider by month in Seoul time, by the prices that billed it; default: this month',
    )
    .action((flags: ExportFlags) =>
      withOperatorService(cli, flags, (operator, output) =>
        output.rows(marginColumns, operator.exportMargin(spanOf(flags))),
      ),
    );

  withCommonOptions(usage.command('rebuild'))
    .description(
      'recompute the hourly sums from the records; can be interrupted and repeated, even while the server runs',
    )
    .option(
      '--from <day>',
      'the first day (Seoul time), such as 2026-01-31; default: the first one with usage',
      seoulDay,
    )
    .option('--to <day>', 'the last day (Seoul time); default: today', seoulDay)
    .action((flags: CommonOptions & { readonly from?: number; readonly to?: number }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { from, to } = flags;
        const period = {
          ...(from === undefined ? {} : { fromMs: from }),
          ...(to === undefined ? {} : { toMs: periodAt('daily', to).endMs }),
        };
        await output.rows(dayColumns, daysOf(operator.rebuildUsage(period)));
      }),
    );
}

/** One row for each Seoul day, once all of its hours are computed. */
async function* daysOf(spans: AsyncIterable<RebuiltSpan>): AsyncGenerator<Row> {
  let day = { at: Number.NaN, hours: 0, requests: 0n, cost: 0n };
  const row = (): Row => ({
    day: isoDay(day.at),
    hours: day.hours,
    requests: Number(day.requests),
    cost_krw: krwToDecimal(krwOfMicro(day.cost)),
  });
  for await (const { fromMs, toMs, requests, cost } of spans) {
    const at = seoulDayAt(fromMs);
    if (at !== day.at) {
      if (day.hours > 0) yield row();
      day = { at, hours: 0, requests: 0n, cost: 0n };
    }
    day = {
      at,
      hours: day.hours + (toMs - fromMs) / 3_600_000,
      requests: day.requests + requests,
      cost: day.cost + cost,
    };
  }
  if (day.hours > 0) yield row();
}
