import type { Command } from 'commander';
import { port } from '../arguments.ts';
import { type CommonOptions, placesOf, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';
import { CliError, type Shell } from '../shell.ts';

interface UpFlags extends CommonOptions {
  readonly host?: string;
  readonly port?: number;
  readonly workers?: string;
}

/** `naru up` and `naru config check`. */
export function addServerCommands(program: Command, shell: Shell, state: { exitCode: number }): void {
  withCommonOptions(program.command('up'))
    .description('serve; the first run also creates the demo account and prints its keys once')
    .option('--host <host>', 'the address to listen on (default: listen.host, 127.0.0.1)')
    .option('--port <port>', 'the port to listen on (default: listen.port, 8787)', port)
    .option('--workers <n>', 'processes that share the port; only 1 is available')
    .action(async (flags: UpFlags) => {
      if (flags.workers !== undefined && flags.workers !== '1') {
        throw new CliError('--workers: this version serves with 1 process; leave the option out');
      }
      state.exitCode = await shell.up({
        ...placesOf(flags),
        host: flags.host ?? null,
        port: flags.port ?? null,
        json: flags.json === true,
      });
    });

  const config = program.command('config').description('the configuration file').helpCommand(false);
  withCommonOptions(config.command('check'))
    .description('every fault of the configuration with its line; exit code 1 if there is one')
    .action(async (flags: CommonOptions) => {
      const { file, faults } = await shell.checkConfig(placesOf(flags));
      const output = new Output(shell, flags.json === true);
      if (faults.length === 0) return output.one(`${file}: no fault`, { file, ok: true, faults: [] });
      state.exitCode = 1;
      return output.one(faults.join('\n'), { file, ok: false, faults });
    });
}
