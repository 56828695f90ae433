import type { Command } from 'commander';
import type { DatabaseStatus } from '../../admin/distribute.ts';
import { counted } from '../../errors/counted.ts';
import { postgresMajor } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';

/** `naru database`: how the tables of accounts are stored, and by which version of PostgreSQL. */
export function addDatabaseCommands(program: Command, cli: CliContext): void {
  const database = program.command('database').description('show, distribute or upgrade the database');

  withCommonOptions(database.command('status'))
    .description('show the shards of a distributed database, their servers and sizes')
    .action(async (flags: CommonOptions) => {
      const { readDatabaseStatus } = await import('../../admin/distribute.ts');
      await show(await readDatabaseStatus(cliPaths(flags), cli), new Output(cli, flags.json === true));
    });

  withCommonOptions(database.command('distribute'))
    .description(
      'distribute the tables of accounts over the servers of a Citus cluster; verifies the ledger before and after',
    )
    .action(async (flags: CommonOptions) => {
      const { distributeDatabase } = await import('../../admin/distribute.ts');
      await show(await distributeDatabase(cliPaths(flags), cli), new Output(cli, flags.json === true));
    });

  withCommonOptions(database.command('upgrade'))
    .description(
      'move the embedded database to the PostgreSQL version of this Naru, after a backup; the server must be stopped',
    )
    .option('--to <major>', 'another major version of PostgreSQL, also an older one', postgresMajor)
    .action(async (flags: CommonOptions & { to?: number }) => {
      const { upgradeDatabase } = await import('../../admin/upgrade-database.ts');
      const done = await upgradeDatabase(cliPaths(flags), flags.to ?? null, cli);
      const { from, to, rows, backup, before } = done;
      const text = [
        `moved ${counted(rows, 'row')} from PostgreSQL ${from} to ${to}: the ledger is consistent`,
        `backup: ${backup}`,
        `the database before: ${before}`,
        `to go back, with all that was charged since: naru database upgrade --to ${from}`,
      ].join('\n');
      await new Output(cli, flags.json === true).one(text, { ...done });
    });
}

async function show(
  { engine, servers, isDistributed, shards }: DatabaseStatus,
  output: Output,
): Promise<void> {
  const lines = [...Map.groupBy(shards, (shard) => shard.server)].map(([server, own]) => {
    const megabytes = own.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6;
    return [server, counted(own.length, 'shard'), `${megabytes.toFixed(1)} MB`];
  });
  const cluster = engine === null ? 'PostgreSQL' : `${engine}, ${counted(servers, 'server')}`;
  const text = isDistributed ? [[cluster], ...lines] : `${cluster}: not distributed`;
  await output.one(text, { engine, servers, distributed: isDistributed, shards });
}
