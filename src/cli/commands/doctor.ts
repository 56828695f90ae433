import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';

/** `naru doctor`. */
export function addDoctorCommand(program: Command, cli: CliContext, state: { exitCode: number }): void {
  withCommonOptions(program.command('doctor'))
    .description('check everything that Naru needs to serve; exit code 1 if a check fails')
    .action(async (flags: CommonOptions) => {
      const { examine } = await import('../../admin/doctor/doctor.ts');
      const findings = await examine(cliPaths(flags), cli);
      const output = new Output(cli, flags.json === true);
      const width = Math.max(...findings.map(({ name }) => name.length));
      for (const { name, ok, isWarning = false, message } of findings) {
        const state = isWarning ? 'warn ' : ok ? 'ok   ' : 'FAULT';
        const text = `${state}  ${name.padEnd(width)}  ${message.replaceAll('\n', `\n${' '.repeat(9 + width)}`)}`;
        await output.one(text, {
          ...{ check: name, ok, detail: message },
          ...(isWarning && { warning: true }),
        });
      }
      if (findings.some(({ ok }) => !ok)) state.exitCode = 1;
    });
}
