import type { Command } from 'commander';
import { OperatorError } from '../../errors/operator-error.ts';
import { krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import { isoOf } from '../../time/clock.ts';
import { type GenerationUuid, generationIdOf } from '../../wire/ids/generation-id.ts';
import { generationUuid, visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';

const columns = ['generation_id', 'account_id', 'cost_krw', 'quarantined_at', 'attempts', 'state', 'reason'];

interface WriteOffFlags extends CommonOptions {
  readonly generation: GenerationUuid;
  readonly reason: string;
}

/** `naru ledger quarantine|retry|write-off`: the settlements that the database rejected. */
export function addQuarantineCommands(ledger: Command, cli: CliContext, state: { exitCode: number }): void {
  withCommonOptions(ledger.command('quarantine'))
    .description('list settlements that the database rejected; they are not charged')
    .option('--all', 'include those that were settled or written off since')
    .action((flags: CommonOptions & { all?: boolean }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const entries = await operator.readQuarantine(flags.all === true);
        await output.rows(
          columns,
          entries.map((entry) => ({
            generation_id: idOf(entry.uuid),
            account_id: entry.accountId,
            cost_krw: krwToDecimal(krwOfMicro(entry.cost)),
            quarantined_at: isoOf(entry.quarantinedAtMs),
            attempts: entry.attempts,
            state: entry.resolution ?? 'waits',
            reason: entry.note ?? entry.reason,
          })),
        );
      }),
    );

  withCommonOptions(ledger.command('retry'))
    .description('retry the rejected settlements; exit code 1 if the database still rejects one')
    .option('--generation <id>', 'only this generation', generationUuid)
    .action((flags: CommonOptions & { generation?: GenerationUuid }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const outcome = await operator.retryQuarantined(flags.generation ?? null);
        if (flags.generation !== undefined && outcome.size === 0) throw notQuarantined(flags.generation);
        for (const [uuid, reason] of outcome) {
          if (reason !== null) state.exitCode = 1;
          const text = reason === null ? 'settled' : `still rejected: ${reason}`;
          await output.one(`${idOf(uuid)}: ${text}`, {
            generation_id: idOf(uuid),
            settled: reason === null,
            reason,
          });
        }
      }),
    );

  withCommonOptions(ledger.command('write-off'))
    .description('write off one settlement; it is never charged')
    .requiredOption('--generation <id>', 'generation id', generationUuid)
    .requiredOption('--reason <text>', 'reason, recorded in the database', visibleText)
    .action((flags: WriteOffFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { generation, reason } = flags;
        if (!(await operator.writeOffQuarantined({ uuid: generation, reason })))
          throw notQuarantined(generation);
        await output.one(`${idOf(generation)}: written off`, { generation_id: idOf(generation), reason });
      }),
    );
}

function notQuarantined(uuid: GenerationUuid): OperatorError {
  return new OperatorError(`no quarantined settlement for ${generationIdOf(uuid)}`);
}

function idOf(uuid: string): string {
  return generationIdOf(uuid as GenerationUuid);
}
