import { type Command, InvalidArgumentError } from 'commander';
import { visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';

interface ServiceFlags extends CommonOptions {
  readonly user: string;
  readonly to: string;
  readonly write?: true;
  readonly replace?: true;
}

/** `naru install-service`. */
export function addServiceCommand(program: Command, cli: CliContext): void {
  withCommonOptions(program.command('install-service'))
    .description('print a systemd unit for this installation; with --write also write it')
    .option('--user <name>', 'user that runs Naru', userName, 'naru')
    .option('--to <file>', 'file of the unit', visibleText, '/etc/systemd/system/naru.service')
    .option('--write', 'write the unit after printing it')
    .option('--replace', 'with --write: replace a different file')
    .action(async (flags: ServiceFlags) => {
      const { installService } = await import('../../admin/install-service.ts');
      const { user, to } = flags;
      const order = { user, to, write: flags.write === true, replace: flags.replace === true };
      const { unit, file, written } = installService(cliPaths(flags), order, cli);
      const next = written
        ? `# written to ${file}; now run: systemctl daemon-reload && systemctl enable --now naru`
        : `# not written; pass --write to write it to ${file}`;
      await new Output(cli, flags.json === true).one(`${unit}${next}`, { file, written, unit });
    });
}

function userName(text: string): string {
  if (!/^[a-z_][a-z0-9_-]{0,31}$/.test(text)) throw new InvalidArgumentError('is not the name of a user.');
  return text;
}
