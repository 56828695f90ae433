import type { Command } from 'commander';
import type { AppliedMetadata } from '../../config/model-metadata/apply-metadata.ts';
import { noticesOf } from '../../log/server-log.ts';
import { host, port, workers } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';

interface UpFlags extends CommonOptions {
  readonly host?: string;
  readonly port?: number;
  /** Null for `auto`. */
  readonly workers: number | null;
}

/** `naru up` and `naru config check`. */
export function addServerCommands(program: Command, cli: CliContext, state: { exitCode: number }): void {
  withCommonOptions(program.command('up'))
    .description('start the server; the first start creates a demo account and prints its keys once')
    .option('--host <host>', 'address to listen on (default: listen.host, 127.0.0.1)', host)
    .option('--port <port>', 'port to listen on (default: listen.port, 8787)', port)
    .option(
      '--workers <n>',
      'worker processes that share the port (default: auto, all cores but one, at most 8, with an external database and four cores or more)',
      workers,
      null,
    )
    .action(async (flags: UpFlags) => {
      const { up } = await import('../../app/up.ts');
      const options = {
        ...cliPaths(flags),
        host: flags.host ?? null,
        port: flags.port ?? null,
        workers: flags.workers,
        json: flags.json === true,
      };
      try {
        state.exitCode = await up(options, cli);
      } catch (error) {
        if (cli.isWatched) throw error;
        const { formatError } = await import('../../admin/format-error.ts');
        noticesOf(cli)('server_failed', formatError(error), 'error');
        state.exitCode = 1;
      }
    });

  const config = program.command('config').description('check the configuration file').helpCommand(false);
  withCommonOptions(config.command('check'))
    .description('list every fault of the configuration with its line; exit code 1 if there are any')
    .action(async (flags: CommonOptions) => {
      const { faultsOf, settingsOf } = await import('../../app/config-source.ts');
      const checked = faultsOf(settingsOf(cliPaths(flags), cli), cli);
      const { file, faults, metadata: facts } = checked;
      const warnings = [...checked.warnings, ...checked.programs];
      const output = new Output(cli, flags.json === true);
      for (const warning of warnings) cli.err(`naru: warning: ${warning}\n`);
      if (faults.length === 0) {
        const row = { file, ok: true, faults: [], warnings };
        if (facts === null || facts.models.length === 0) return output.one(`${file}: no faults`, row);
        return output.one(`${file}: no faults\n${factsText(facts)}`, { ...row, facts: factsRow(facts) });
      }
      state.exitCode = 1;
      return output.one(faults.join('\n'), { file, ok: false, faults, warnings });
    });
}

function factsText({ asOf, source, origin, models }: AppliedMetadata): string {
  const lines = models.map(({ id, members, price, asks, unbilled }) => {
    const message = members.map((name) => (name === 'price' ? `price (${price})` : name)).join(', ');
    const metadataSource = asks === null ? '' : `; metadata of ${asks}`;
    const rest = unbilled.length === 0 ? '' : `; prices not billed: ${unbilled.join(', ')}`;
    return `  ${id}: ${message || 'nothing'}${metadataSource}${rest}`;
  });
  return `from the public model metadata of ${asOf} (${origin}; ${source}):\n${lines.join('\n')}`;
}

function factsRow({ asOf, source, origin, models }: AppliedMetadata): object {
  return { as_of: asOf, source, origin, models };
}
