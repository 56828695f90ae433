import { isIPv4, isIPv6 } from 'node:net';
import { basename } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { defaultPorts } from '../../config/defaults.ts';
import { visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';

interface ServiceFlags extends CommonOptions {
  readonly user: string;
  readonly to: string;
  readonly listen: string;
  readonly write?: true;
  readonly replace?: true;
}

/** `naru install-service`. */
export function addServiceCommand(program: Command, cli: CliContext): void {
  withCommonOptions(program.command('install-service'))
    .description(
      'print systemd units for this installation, a service and its socket; with --write also write them',
    )
    .option('--user <name>', 'user that runs Naru', userName, 'naru')
    .option('--to <file>', 'file of the service', visibleText, '/etc/systemd/system/naru.service')
    .option(
      '--listen <address>',
      'where the socket listens',
      socketAddress,
      `127.0.0.1:${defaultPorts.listen}`,
    )
    .option('--write', 'write the units after printing them')
    .option('--replace', 'with --write: replace different files')
    .action(async (flags: ServiceFlags) => {
      const { installService } = await import('../../admin/install-service.ts');
      const { user, to, listen } = flags;
      const order = { user, to, listen, write: flags.write === true, replace: flags.replace === true };
      const { service, socket, written, missing } = installService(cliPaths(flags), order, cli);
      const files = `${service.file} and ${socket.file}`;
      const names = [socket, service].map(({ file }) => basename(file)).join(' ');
      const next = written
        ? `# written to ${files}; now run: systemctl daemon-reload && systemctl enable --now ${names}`
        : `# not written; pass --write to write them to ${files}`;
      const lines = [next, ...missing.map((one) => `# missing: ${one}`)].join('\n');
      await new Output(cli, flags.json === true).one(`${service.text}\n${socket.text}${lines}`, {
        file: service.file,
        unit: service.text,
        socket_file: socket.file,
        socket_unit: socket.text,
        written,
        missing,
      });
    });
}

/** `HOST:PORT` with an IP address as systemd writes it, IPv6 in brackets. */
function socketAddress(text: string): string {
  const [, ipv4 = '', ipv6 = '', port = ''] = /^(?:([\d.]+)|\[([\da-f:.]+)\]):(\d{1,5})$/i.exec(text) ?? [];
  const isPort = Number(port) >= 1 && Number(port) <= 65_535;
  if (!isPort || !(isIPv4(ipv4) || isIPv6(ipv6)))
    throw new InvalidArgumentError('is not an IP address and a port, such as 0.0.0.0:8787 or [::1]:8787.');
  return text;
}

function userName(text: string): string {
  if (!/^[a-z_][a-z0-9_-]{0,31}$/.test(text)) throw new InvalidArgumentError('is not the name of a user.');
  return text;
}
