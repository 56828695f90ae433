import type { Command } from 'commander';
import { counted } from '../../errors/counted.ts';
import { visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';

/** `naru backup` and `naru restore`. */
export function addBackupCommands(program: Command, cli: CliContext, state: { exitCode: number }): void {
  withCommonOptions(program.command('backup'))
    .description('back up the database to a folder; works with or without a running server')
    .option('--to <dir>', 'a new or empty folder (default: ./naru-backup-<time>)', visibleText)
    .option('--without-nodes', 'back up even if a node cannot write its settlements to the database first')
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
      const lacks = withoutNodes
        .map((node) => `\nmissing the latest settlements of a node: ${node}`)
        .join('');
      const text = `${dir}: ${counted(rows, 'row')} of ${counted(tables, 'table')}, taken at ${takenAt}${lacks}`;
      const done = { dir, taken_at: takenAt, tables, rows, without_nodes: withoutNodes };
      await new Output(cli, flags.json === true).one(text, done);
    });

  withCommonOptions(program.command('restore'))
    .description('restore a backup into an empty database and verify the ledger; exit code 1 if it differs')
    .argument('<dir>', 'folder created by naru backup', visibleText)
    .option(
      '--continue',
      'this database replaces the one that was backed up: settle the journals of its nodes here',
    )
    .action(async (dir: string, flags: CommonOptions & { continue?: boolean }) => {
      const continues = flags.continue === true;
      const { restore } = await import('../../admin/backup/restore.ts');
      const order = { from: dir, continues };
      const { takenAt, tables, rows, differences } = await restore(cliPaths(flags), order, cli);
      if (differences > 0) state.exitCode = 1;
      const verdict =
        differences === 0
          ? 'the ledger is consistent'
          : `${counted(differences, 'difference')}; run naru ledger verify`;
      const text = `restored ${counted(rows, 'row')} of ${counted(tables, 'table')}, taken at ${takenAt}: ${verdict}`;
      await new Output(cli, flags.json === true).one(text, {
        taken_at: takenAt,
        tables,
        rows,
        differences,
      });
    });
}
