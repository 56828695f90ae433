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
    .action(async (flags: CommonOptions & { to?: string }) => {
      const { dir, takenAt, tables, rows } = await shell.backUp(placesOf(flags), flags.to ?? null);
      const text = `${dir}: ${rows} rows of ${tables} tables, as of ${takenAt} or a moment later`;
      await new Output(shell, flags.json === true).one(text, { dir, taken_at: takenAt, tables, rows });
    });

  withCommonOptions(program.command('restore'))
    .description('put a backup into an empty database, and verify it; exit code 1 when the books disagree')
    .argument('<dir>', 'the folder that naru backup made', words)
    .action(async (dir: string, flags: CommonOptions) => {
      const { takenAt, tables, rows, differences } = await shell.restore(placesOf(flags), dir);
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
