import type { Command } from 'commander';
import { words } from '../arguments.ts';
import { type CommonOptions, placesOf, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';
import type { Shell } from '../shell.ts';

/** `naru backup` and `naru restore`. */
export function addBackupCommands(program: Command, shell: Shell, state: { exitCode: number }): void {
  withCommonOptions(program.command('backup'))
    .description('copy the books into a folder, while the server runs or without one')
    .option('--to <dir>', 'a new or empty folder (default: naru-backup-<time> here)', words)
    .option('--without-nodes', 'also when a node cannot bring in what it has settled')
    .action(async (flags: CommonOptions & { to?: string; withoutNodes?: true }) => {
      const { dir, takenAt, tables, rows, withoutNodes } = await shell.backUp(placesOf(flags), {
        to: flags.to ?? null,
        withoutNodes: flags.withoutNodes === true,
      });
      const lacks = withoutNodes.map((node) => `\nwithout what this node settled last: ${node}`).join('');
      const text = `${dir}: ${rows} rows of ${tables} tables, as of ${takenAt} or a moment later${lacks}`;
      const done = { dir, taken_at: takenAt, tables, rows, without_nodes: withoutNodes };
      await new Output(shell, flags.json === true).one(text, done);
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
      const { takenAt, tables, rows, differences } = await shell.restore(placesOf(flags), dir, continues);
      if (differences > 0) state.exitCode = 1;
      const books =
        differences === 0 ? 'the books agree' : `${differences} differences, see naru ledger verify`;
      const text = `restored ${rows} rows of ${tables} tables, as of ${takenAt}: ${books}`;
      await new Output(shell, flags.json === true).one(text, {
        taken_at: takenAt,
        tables,
        rows,
        differences,
      });
    });
}
