import type { Command } from 'commander';
import { words } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';

/** `naru backup` and `naru restore`. */
export function addBackupCommands(program: Command, cli: CliContext, state: { exitCode: number }): void {
  withCommonOptions(program.command('backup'))
    .description('copy the books into a folder, while the server runs or without one')
    .option('--to <dir>', 'a new or empty folder (default: naru-backup-<time> here)', words)
    .option('--without-nodes', 'also when a node cannot bring in what it has settled')
    .action(async (flags: CommonOptions & { to?: string; withoutNodes?: true }) => {
      const { backUp } = await import('../../admin/backup/backup.ts');
      const { dir, takenAt, tables, rows, withoutNodes } = await backUp(
        cliPaths(flags),
        {
          to: flags.to ?? null,
          withoutNodes: flags.withoutNodes === true,
        },
        cli.version,
        cli,
      );
      const lacks = withoutNodes.map((node) => `\nwithout what this node settled last: ${node}`).join('');
      const text = `${dir}: ${rows} rows of ${tables} tables, as of ${takenAt} or a moment later${lacks}`;
      const done = { dir, taken_at: takenAt, tables, rows, without_nodes: withoutNodes };
      await new Output(cli, flags.json === true).one(text, done);
    });

  withCommonOptions(program.command('restore'))
    .description('put a backup into an empty database, and verify it; exit code 1 when the books disagree')
    .argument('<dir>', 'the folder that naru backup made', words)
    .option(
      '--continue',
      'the books that were backed up go on here: journals of their nodes are settled here',
    )
    .action(async (dir: string, flags: CommonOptions & { continue?: boolean }) => {
      const continues = flags.continue === true;
      const { restore } = await import('../../admin/backup/restore.ts');
      const order = { from: dir, continues };
      const { takenAt, tables, rows, differences } = await restore(cliPaths(flags), order, cli);
      if (differences > 0) state.exitCode = 1;
      const books =
        differences === 0 ? 'the books agree' : `${differences} differences, see naru ledger verify`;
      const text = `restored ${rows} rows of ${tables} tables, as of ${takenAt}: ${books}`;
      await new Output(cli, flags.json === true).one(text, {
        taken_at: takenAt,
        tables,
        rows,
        differences,
      });
    });
}
