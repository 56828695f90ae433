import type { Command } from 'commander';
import { operatorName } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';

/** `naru console`. */
export function addConsoleCommand(program: Command, cli: CliContext): void {
  withCommonOptions(program.command('console'))
    .description(
      'print a one-time link to the operator console of the running server, valid for 24 hours; if there is no operator, create one named admin',
    )
    .option('--name <name>', 'operator that the link signs in (default: the only one)', operatorName)
    .action(async (flags: CommonOptions & { name?: string }) => {
      const { openConsoleLink } = await import('../../admin/console-link.ts');
      const row = await openConsoleLink(cliPaths(flags), flags.name ?? null, cli);
      const text = `${row.url}\n(signs in ${row.operator} once, until ${row.expires_at})`;
      await new Output(cli, flags.json === true).one(text, row);
    });
}
