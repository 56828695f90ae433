import type { Command } from 'commander';
import { OperatorError } from '../../errors/operator-error.ts';
import { type GenerationUuid, generationIdOf } from '../../ids/generation-id.ts';
import { krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import { isoOf } from '../../time/clock.ts';
import { generationUuid, words } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';

const columns = ['generation_id', 'account_id', 'cost_krw', 'quarantined_at', 'attempts', 'state', 'reason'];

interface WriteOffFlags extends CommonOptions {
  readonly generation: GenerationUuid;
  readonly reason: string;
}

/** `naru ledger quarantine|retry|write-off`: the settlements that the database refused. */
export function addQuarantineCommands(ledger: Command, cli: CliContext, state: { exitCode: number }): void {
  withCommonOptions(ledger.command('quarantine'))
    .description('settlements that the database refused: their money has not moved')
    .option('--all', 'those that were settled or written off since, too')
    .action((flags: CommonOptions & { all?: boolean }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const entries = await operator.readQuarantine(flags.all === true);
        await output.table(
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
    .description('settle them once more; exit code 1 when the database still refuses one')
    .option('--generation <id>', 'only this one', generationUuid)
    .action((flags: CommonOptions & { generation?: GenerationUuid }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const outcome = await operator.retryQuarantined(flags.generation ?? null);
        if (flags.generation !== undefined && outcome.size === 0) throw notThere(flags.generation);
        for (const [uuid, reason] of outcome) {
          if (reason !== null) state.exitCode = 1;
          const text = reason === null ? 'settled' : `still refused: ${reason}`;
          await output.one(`${idOf(uuid)}: ${text}`, {
            generation_id: idOf(uuid),
            settled: reason === null,
            reason,
          });
        }
      }),
    );

  withCommonOptions(ledger.command('write-off'))
    .description('give one up: nobody is charged for it')
    .requiredOption('--generation <id>', 'which', generationUuid)
    .requiredOption('--reason <text>', 'why, for the books', words)
    .action((flags: WriteOffFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { generation, reason } = flags;
        if (!(await operator.writeOffQuarantined({ uuid: generation, reason }))) throw notThere(generation);
        await output.one(`${idOf(generation)}: written off`, { generation_id: idOf(generation), reason });
      }),
    );
}

function notThere(uuid: GenerationUuid): OperatorError {
  return new OperatorError(`no settlement of ${generationIdOf(uuid)} waits for a decision`);
}

function idOf(uuid: string): string {
  return generationIdOf(uuid as GenerationUuid);
}
