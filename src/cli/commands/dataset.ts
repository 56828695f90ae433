import { Argument, type Command } from 'commander';
import { type DatasetName, datasetNames, type SyncOutcome } from '../../datasets/sync.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';

/** `naru dataset sync` (spec:operator/1.10): exit code 1 when a dataset could not be synced. */
export function addDatasetCommands(program: Command, cli: CliContext, state: { exitCode: number }): void {
  const dataset = program.command('dataset').description('the rankings and benchmarks');
  withCommonOptions(dataset.command('sync'))
    .description('read them from the source now; a running server shows them at once')
    .addArgument(new Argument('[name]', 'only this one').choices(datasetNames))
    .action((only: DatasetName | undefined, flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const outcomes = await operator.syncDatasets(only === undefined ? datasetNames : [only]);
        if (outcomes === 'no_key')
          throw new OperatorError(
            'there is no datasets.sync_key in the configuration: nothing can be synced',
          );
        if (outcomes === 'busy')
          throw new OperatorError('another process syncs now: try again in a few minutes');
        if (outcomes.some((outcome) => outcome.kind === 'failed')) state.exitCode = 1;
        for (const outcome of outcomes) await output.one(textOf(outcome), rowOf(outcome));
      }),
    );
}

function textOf(outcome: SyncOutcome): string {
  return outcome.kind === 'synced'
    ? `${outcome.dataset}: ${outcome.rows} rows through ${outcome.through}`
    : `${outcome.dataset}: failed: ${outcome.reason}`;
}

function rowOf({ kind, ...outcome }: SyncOutcome): object {
  return { ...outcome, ok: kind === 'synced' };
}
