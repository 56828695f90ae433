import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';

/** `naru doctor`. */
export function addDoctorCommand(program: Command, cli: CliContext, state: { exitCode: number }): void {
  withCommonOptions(program.command('doctor'))
    .description('check everything that Naru needs to serve; exit code 1 if a check fails')
    .option('--online', 'also call the providers, the place of backups, the OpenID issuer and the collector')
    .action(async (flags: CommonOptions & { readonly online?: boolean }) => {
      const { examine } = await import('../../admin/doctor/doctor.ts');
      const findings = await examine(cliPaths(flags), cli, flags.online === true);
      const rows = findings.flatMap(({ name, ok, isWarning = false, message }) => {
        const row = { state: isWarning ? 'warn' : ok ? 'ok' : 'FAULT', check: name };
        if (flags.json === true)
          return [{ ...row, ok, detail: message, ...(isWarning && { warning: true }) }];
        const [first, ...more] = message.split('\n');
        return [{ ...row, detail: first }, ...more.map((detail) => ({ state: '', check: '', detail }))];
      });
      await new Output(cli, flags.json === true).rows(['state', 'check', 'detail'], rows);
      if (findings.some(({ ok }) => !ok)) state.exitCode = 1;
    });
}
