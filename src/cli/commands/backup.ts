import type { Command } from 'commander';
import { counted } from '../../errors/counted.ts';
import { isoOf } from '../../time/clock.ts';
import { visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';

/** `naru backup` and `naru restore`. */
export function addBackupCommands(program: Command, cli: CliContext, state: { exitCode: number }): void {
  const backup = withCommonOptions(program.command('backup'))
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
        cli,
      );
      const lacks = withoutNodes
        .map((node) => `\nmissing the latest settlements of a node: ${node}`)
        .join('');
      const text = `${dir}: ${counted(rows, 'row')} of ${counted(tables, 'table')}, taken at ${takenAt}${lacks}`;
      const done = { dir, taken_at: takenAt, tables, rows, without_nodes: withoutNodes };
      await new Output(cli, flags.json === true).one(text, done);
    });
  addScheduledBackups(backup, cli);
  withCommonOptions(backup.command('new-key'))
    .description('print a new key for backup.encryption_key; nothing is stored')
    .action(async (_: object, command: Command) => {
      const flags: CommonOptions = command.optsWithGlobals();
      const { generateX25519Identity } = await import('age-encryption');
      const key = await generateX25519Identity();
      await new Output(cli, flags.json === true).one(key, { key });
    });

  withCommonOptions(program.command('restore'))
    .description('restore a backup into an empty database and verify the ledger; exit code 1 if it differs')
    .argument('<backup>', 'a folder made by naru backup, or a name of naru backup list', visibleText)
    .option(
      '--continue',
      'this database replaces the one that was backed up: settle the journals of its nodes here',
    )
    .option('--unencrypted', 'restore a backup that is not encrypted although there is a key')
    .action(async (from: string, flags: CommonOptions & { continue?: true; unencrypted?: true }) => {
      const { restore } = await import('../../admin/backup/restore.ts');
      const order = {
        from,
        continues: flags.continue === true,
        isUnencryptedAllowed: flags.unencrypted === true,
      };
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

/** The subcommands for the configured place. */
function addScheduledBackups(backup: Command, cli: CliContext): void {
  withCommonOptions(backup.command('list'))
    .description('list the backups in the configured place')
    .action(async (_: object, command: Command) => {
      const flags: CommonOptions = command.optsWithGlobals();
      const { listBackups } = await import('../../admin/backup/backup.ts');
      const rows = await listBackups(cliPaths(flags), cli);
      const columns = ['name', 'bytes', 'rows', 'naru', 'encryption', 'fault'];
      await new Output(cli, flags.json === true).rows(columns, rows);
    });
  withCommonOptions(backup.command('run'))
    .description('make a backup in the configured place now, as the schedule does')
    .action(async (_: object, command: Command) => {
      const flags: CommonOptions = command.optsWithGlobals();
      const { backUpNow } = await import('../../admin/backup/backup.ts');
      const done = await backUpNow(cliPaths(flags), cli);
      const lacks = done.withoutNodes
        .map((node) => `\nmissing the latest settlements of a node: ${node}`)
        .join('');
      const text = `${done.name} in ${done.place}: ${counted(done.rows, 'row')} of ${counted(done.tables, 'table')}, ${counted(done.bytes, 'byte')}${lacks}`;
      await new Output(cli, flags.json === true).one(text, {
        name: done.name,
        place: done.place,
        taken_at: done.takenAt,
        tables: done.tables,
        rows: done.rows,
        bytes: done.bytes,
        without_nodes: done.withoutNodes,
        removed: done.removed,
      });
    });
  withCommonOptions(backup.command('drill'))
    .description('restore the newest backup into a temporary database and verify its ledger')
    .action(async (_: object, command: Command) => {
      const flags: CommonOptions = command.optsWithGlobals();
      const { drillNow } = await import('../../admin/backup/backup.ts');
      const { name, place, rows, bytes } = await drillNow(cliPaths(flags), cli);
      const text = `${name} in ${place}: ${counted(rows, 'row')} restored, the ledger is consistent`;
      await new Output(cli, flags.json === true).one(text, { name, place, rows, bytes });
    });
  withCommonOptions(backup.command('runs'))
    .description('list the last 100 runs of the schedule, newest first')
    .action(async (_: object, command: Command) => {
      const flags: CommonOptions = command.optsWithGlobals();
      const { listRuns } = await import('../../admin/backup/backup.ts');
      const rows = (await listRuns(cliPaths(flags), cli)).map((run) => ({
        kind: run.kind,
        started_at: isoOf(run.startedAtMs),
        ended_at: run.endedAtMs === null ? null : isoOf(run.endedAtMs),
        backup: run.backup,
        place: run.place,
        bytes: run.bytes,
        rows: run.rows,
        result: run.endedAtMs === null ? 'running' : run.error === null ? 'ok' : 'failed',
        error: run.error,
      }));
      await new Output(cli, flags.json === true).rows(
        ['kind', 'started_at', 'ended_at', 'backup', 'bytes', 'result', 'error'],
        rows,
      );
    });
}
