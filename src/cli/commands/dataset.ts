import { Argument, type Command } from 'commander';
import { type DatasetName, datasetNames, type SyncOutcome } from '../../datasets/sync.ts';
import { type CommonOptions, inOffice, withCommonOptions } from '../options.ts';
import { CliError, type Shell } from '../shell.ts';

/** `naru dataset sync` (decisions.md §4): exit code 1 when a dataset could not be synced. */
export function addDatasetCommands(program: Command, shell: Shell, state: { exitCode: number }): void {
  const dataset = program.command('dataset').description('the rankings and benchmarks');
  withCommonOptions(dataset.command('sync'))
    .description('read them from the source now; a running server shows them at once')
    .addArgument(new Argument('[name]', 'only this one').choices(datasetNames))
    .action((only: DatasetName | undefined, flags: CommonOptions) =>
      inOffice(shell, flags, async (office, output) => {
        const outcomes = await office.syncDatasets(only === undefined ? datasetNames : [only]);
        if (outcomes === 'no_key')
          throw new CliError('there is no datasets.sync_key in the configuration: nothing can be synced');
        if (outcomes === 'busy') throw new CliError('another process syncs now: try again in a few minutes');
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
