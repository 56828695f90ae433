import { Argument, type Command } from 'commander';
import { type DatasetName, datasetNames, type SyncOutcome } from '../../datasets/sync.ts';
import { counted } from '../../errors/counted.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';

/** `naru dataset sync` (spec:operator/1.10): exit code 1 when a dataset failed to sync. */
export function addDatasetCommands(program: Command, cli: CliContext, state: { exitCode: number }): void {
  const dataset = program.command('dataset').description('fetch rankings and benchmarks');
  withCommonOptions(dataset.command('sync'))
    .description('fetch datasets from the source now; running servers serve them immediately')
    .addArgument(new Argument('[name]', 'only this dataset').choices(datasetNames))
    .action((only: DatasetName | undefined, flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const outcomes = await operator.syncDatasets(only === undefined ? datasetNames : [only]);
        if (outcomes === 'no_key')
          throw new OperatorError('cannot sync: set datasets.sync_key in the configuration');
        if (outcomes.some((outcome) => outcome.kind === 'failed')) state.exitCode = 1;
        for (const outcome of outcomes) await output.one(textOf(outcome), rowOf(outcome));
      }),
    );
}

function textOf(outcome: SyncOutcome): string {
  if (outcome.kind === 'failed') return `${outcome.dataset}: failed: ${outcome.reason}`;
  if (outcome.rows === 0) return `${outcome.dataset}: the source has no rows; earlier data stays published`;
  return `${outcome.dataset}: ${counted(outcome.rows, 'row')} through ${outcome.through}`;
}

function rowOf({ kind, ...outcome }: SyncOutcome): object {
  return { ...outcome, ok: kind === 'synced' };
}
