import type { Command } from 'commander';
import type { CatalogueChange } from '../../catalogue/difference.ts';
import { hint } from '../../config/nearest.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';
import type { Row } from '../output.ts';
import { changeRows, diffColumns, historyColumns, listColumns, versionRow } from './price-rows.ts';

/** `naru models list|diff|publish|history`: prices as they are published, and as a publication would change them. */
export function addPublicationCommands(models: Command, cli: CliContext, state: { exitCode: number }): void {
  withCommonOptions(models.command('list'))
    .description('what is published now, in won per token')
    .action((flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) =>
        output.table(listColumns, (await operator.readPublished()).map(versionRow)),
      ),
    );

  withCommonOptions(models.command('diff'))
    .description('what publishing the configuration file would change; won per token')
    .option('--exit-code', 'exit code 1 when it would change anything')
    .action((flags: CommonOptions & { exitCode?: boolean }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const changes = await operator.diffCatalogue();
        if (flags.exitCode === true && changes.length > 0) state.exitCode = 1;
        await output.table(diffColumns, rowsOf(changes), 'no difference: what the file says is published');
      }),
    );

  withCommonOptions(models.command('publish'))
    .description(
      'publish the prices of the configuration file; a running server takes the file over within a second',
    )
    .action((flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { edition, changes } = await operator.publishCatalogue();
        await output.table(diffColumns, rowsOf(changes), 'no difference: it was published before');
        await output.one(`edition ${edition} is published: ${summaryOf(changes)}`, {
          edition,
          changes: changes.length,
        });
      }),
    );

  withCommonOptions(models.command('history'))
    .description('every price there ever was, with the rate that made won of dollars; instants in Seoul time')
    .argument('[model]', 'only this model')
    .action((model: string | undefined, flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const found = await operator.readPriceHistory(model ?? null);
        if ('known' in found)
          throw new OperatorError(
            `no price of a model ${model} was ever published${hint(model ?? '', found.known)}`,
          );
        await output.table(historyColumns, found.versions.map(versionRow));
      }),
    );
}

function rowsOf(changes: readonly CatalogueChange[]): readonly Row[] {
  return changes.flatMap(changeRows);
}

function summaryOf(changes: readonly CatalogueChange[]): string {
  const changed = changes.filter(({ after }) => after !== null).length;
  const gone = changes.length - changed;
  return changes.length === 0 ? 'nothing changed' : `${changed} new or changed, ${gone} gone`;
}
