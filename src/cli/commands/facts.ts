import type { Command } from 'commander';
import type { RefreshedMetadata, UpdatedMetadata } from '../../admin/model-metadata.ts';
import type { ModelMetadataEntry } from '../../config/model-metadata/metadata.ts';
import { hint } from '../../config/nearest.ts';
import { counted } from '../../errors/counted.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output, type Row } from '../output.ts';

const columns = ['id', 'context_length', 'max_completion_tokens', 'prompt_usd', 'completion_usd', 'input'];

/** How many changed members people see. */
const maxChanges = 50;

/** `naru models facts|refresh|update`: public model metadata. None needs the database. */
export function addFactCommands(models: Command, cli: CliContext): void {
  withCommonOptions(models.command('facts'))
    .description('list public model metadata that naru.yaml can use; prices in USD per million tokens')
    .argument('[part]', 'only ids that contain this text')
    .action(async (part: string | undefined, flags: CommonOptions) => {
      const { readMetadata: readFacts } = await import('../../admin/model-metadata.ts');
      const { models: facts, asOf, origin } = await readFacts(cliPaths(flags), cli);
      const wanted = part?.toLowerCase() ?? '';
      const found = [...facts.values()].filter(({ id }) => id.toLowerCase().includes(wanted));
      if (found.length === 0)
        throw new OperatorError(
          `the model metadata of ${asOf} has no model ${part}${hint(part ?? '', facts.keys())}`,
        );
      await new Output(cli, flags.json === true).rows(columns, found.map(rowOf));
      if (flags.json !== true) cli.err(`model metadata of ${asOf} (${origin})\n`);
    });

  withCommonOptions(models.command('refresh'))
    .description('replace the local copy of the model metadata; takes effect only after naru models publish')
    .option(
      '--from <file|url>',
      'a listing such as https://openrouter.ai/api/v1/models (default: the copy shipped with Naru)',
      visibleText,
    )
    .action(async (flags: CommonOptions & { from?: string }) => {
      const { refreshMetadata: refreshFacts } = await import('../../admin/model-metadata.ts');
      const refreshed = await refreshFacts(cliPaths(flags), flags.from ?? null, cli);
      const { path, asOf, source, models: count, added, gone, priced, left } = refreshed;
      await new Output(cli, flags.json === true).one(textOf(refreshed), {
        ...{ path, as_of: asOf, source, models: count, added, gone, price_changed: priced },
        left_out: Object.fromEntries(left),
      });
    });

  withCommonOptions(models.command('update'))
    .description('update the model metadata from a local file; no price changes')
    .argument('<file>', "LiteLLM's price file, the api.json of models.dev, or a listing", visibleText)
    .option('--dry-run', 'print the differences and write nothing')
    .action(async (from: string, flags: CommonOptions & { dryRun?: boolean }) => {
      const { updateMetadata } = await import('../../admin/model-metadata.ts');
      const isDryRun = flags.dryRun === true;
      const updated = await updateMetadata(cliPaths(flags), { from, isDryRun }, cli);
      const { path, asOf, source, models: count, added, changed, left } = updated;
      await new Output(cli, flags.json === true).one(updateText(updated, isDryRun), {
        ...{ path, as_of: asOf, source, models: count, added, changed, written: !isDryRun },
        left_out: Object.fromEntries(left),
      });
    });
}

function rowOf(fact: ModelMetadataEntry): Row {
  return {
    ...fact,
    prompt_usd: fact.price?.prompt ?? null,
    completion_usd: fact.price?.completion ?? null,
    input: fact.input_modalities?.join(' ') ?? null,
  };
}

function textOf({ path, asOf, models, added, gone, priced, left }: RefreshedMetadata): string {
  const lines = [
    `${path}: metadata of ${counted(models, 'model')} as of ${asOf}`,
    ...idsLine('added', added),
    ...idsLine('removed', gone),
    ...idsLine('with a changed price', priced),
    ...[...left].map(([reason, count]) => `skipped ${count}: ${reason}`),
    'served models have not changed; naru models diff shows what publishing would change',
  ];
  return lines.join('\n');
}

function updateText(
  { path, asOf, models, added, changed, left }: UpdatedMetadata,
  isDryRun: boolean,
): string {
  const shown = (value: unknown): string => (value === undefined ? 'unknown' : JSON.stringify(value));
  const more =
    changed.length > maxChanges ? [`and ${changed.length - maxChanges} more changes (--json)`] : [];
  const lines = [
    `${path}: metadata of ${counted(models, 'model')} as of ${asOf}`,
    ...idsLine('added', added),
    ...changed
      .slice(0, maxChanges)
      .map(({ id, member, before, after }) => `${id}: ${member}: ${shown(before)} -> ${shown(after)}`),
    ...more,
    ...[...left].map(([reason, count]) => `skipped ${count}: ${reason}`),
    isDryRun
      ? 'nothing was written (--dry-run)'
      : 'no price has changed; a running server uses the rest after a restart or SIGHUP',
  ];
  return lines.join('\n');
}

function idsLine(what: string, ids: readonly string[]): readonly string[] {
  const more = ids.length > 10 ? ` and ${ids.length - 10} more` : '';
  return ids.length === 0 ? [] : [`${what} ${ids.length}: ${ids.slice(0, 10).join(', ')}${more}`];
}
