import type { Command } from 'commander';
import type { RebuiltSpan } from '../../analytics/roll-usage.ts';
import { counted } from '../../errors/counted.ts';
import { krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import { isoOf } from '../../time/clock.ts';
import { isoDay, periodAt, seoulDayAt } from '../../time/period.ts';
import { seoulDay } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';
import type { Row } from '../output.ts';

const dayColumns = ['day', 'hours', 'requests', 'cost_krw'];

/** `naru usage rebuild|verify`: the hourly sums that the dashboard and the console read. */
export function addUsageCommands(program: Command, cli: CliContext, state: { exitCode: number }): void {
  const usage = program
    .command('usage')
    .description('rebuild and verify the hourly sums of usage that the pages show')
    .helpCommand(false);

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

  withCommonOptions(usage.command('verify'))
    .description(
      'compare the hourly sums with the records and with the ledger; print differences and exit with code 1 if any',
    )
    .action((flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { span, dueHours, differences } = await operator.verifyUsage();
        if (differences.length > 0) state.exitCode = 1;
        const lines = differences.map(
          (row) => `${row.subject}: ${row.check}: expected ${row.expected}, found ${row.found}`,
        );
        const hours = span === null ? 0 : (span.toMs - span.fromMs) / 3_600_000;
        const verdict =
          differences.length === 0
            ? 'the hourly sums agree with the records and the ledger'
            : `${counted(differences.length, 'difference')}; run naru usage rebuild`;
        const due = dueHours === 0 ? '' : `, ${counted(dueHours, 'hour')} about to be computed again`;
        await output.one([...lines, `${counted(hours, 'hour')}${due}: ${verdict}`].join('\n'), {
          ok: differences.length === 0,
          from: span === null ? null : isoOf(span.fromMs),
          to: span === null ? null : isoOf(span.toMs),
          due_hours: dueHours,
          differences,
        });
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
