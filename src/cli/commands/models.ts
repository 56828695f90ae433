import type { Command } from 'commander';
import type { CatalogueChange } from '../../catalogue/difference.ts';
import { hint } from '../../config/nearest.ts';
import { counted } from '../../errors/counted.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import type { NodeRow } from '../../nodes/nodes-sql.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';
import type { Row } from '../output.ts';
import { changeRows, diffColumns, historyColumns, listColumns, versionRow } from './price-rows.ts';

/**
 * `naru models list|diff|publish|history`: published prices, and what a publication would change.
 */
export function addPublicationCommands(models: Command, cli: CliContext, state: { exitCode: number }): void {
  withCommonOptions(models.command('list'))
    .description('list the published models and their prices in won per token')
    .action((flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) =>
        output.rows(listColumns, (await operator.readPublished()).map(versionRow)),
      ),
    );

  withCommonOptions(models.command('diff'))
    .description('show what publishing the configuration file would change, in won per token')
    .option('--exit-code', 'exit with code 1 if anything would change')
    .action((flags: CommonOptions & { exitCode?: boolean }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const changes = await operator.diffCatalogue();
        if (flags.exitCode === true && changes.length > 0) state.exitCode = 1;
        await output.rows(
          diffColumns,
          rowsOf(changes),
          'no difference: the configuration file is already published',
        );
      }),
    );

  addPublish(models, cli, state);

  withCommonOptions(models.command('history'))
    .description('list every published price with its exchange rate, in Seoul time')
    .argument('[model]', 'only this model')
    .action((model: string | undefined, flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const found = await operator.readPriceHistory(model ?? null);
        if ('known' in found)
          throw new OperatorError(
            `no price was ever published for model ${model}${hint(model ?? '', found.known)}`,
          );
        await output.rows(historyColumns, found.versions.map(versionRow));
      }),
    );
}

function addPublish(models: Command, cli: CliContext, state: { exitCode: number }): void {
  withCommonOptions(models.command('publish'))
    .description(
      'publish the models and prices of the configuration file and wait until every live node bills them; exit code 1, with their names, if some do not',
    )
    .option('--yes', 'publish also prices that change by more than a factor of ten')
    .option('--reason <text>', 'why, for the audit log')
    .action((flags: CommonOptions & { yes?: boolean; reason?: string }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { edition, changes, late, differing } = await operator.publishCatalogue({
          allowsLarge: flags.yes === true,
          ...(flags.reason === undefined ? {} : { reason: flags.reason }),
        });
        await output.rows(
          diffColumns,
          rowsOf(changes),
          'no difference: the configuration file was already published',
        );
        const lines = [
          `published edition ${edition}: ${summaryOf(changes)}`,
          ...late.map((node) => `${nameOf(node)} does not serve it yet: see its log, or naru node list`),
          ...differing.map(
            (node) =>
              `${nameOf(node)} bills it, but its configuration differs in ${counted(node.differences ?? 0, 'price')}: give it this file, and restart it if a member needs that`,
          ),
        ];
        await output.one(lines.join('\n'), {
          edition,
          changes: changes.length,
          not_taken: late.map(({ home }) => home),
          differing: differing.map(({ home }) => home),
        });
        if (late.length > 0) state.exitCode = 1;
      }),
    );
}

function nameOf({ id, address, home }: NodeRow): string {
  return `node ${id} (${address}, ${home})`;
}

function rowsOf(changes: readonly CatalogueChange[]): readonly Row[] {
  return changes.flatMap(changeRows);
}

function summaryOf(changes: readonly CatalogueChange[]): string {
  const changed = changes.filter(({ after }) => after !== null).length;
  const gone = changes.length - changed;
  return changes.length === 0 ? 'nothing changed' : `${changed} new or changed, ${gone} removed`;
}
