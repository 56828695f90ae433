import type { Command } from 'commander';
import { type CommonOptions, placesOf, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';
import type { Shell } from '../shell.ts';

/** `naru doctor`. */
export function addDoctorCommand(program: Command, shell: Shell, state: { exitCode: number }): void {
  withCommonOptions(program.command('doctor'))
    .description('check what Naru needs to serve; exit code 1 when something is wrong')
    .action(async (flags: CommonOptions) => {
      const findings = await shell.examine(placesOf(flags));
      const output = new Output(shell, flags.json === true);
      const width = Math.max(...findings.map(({ name }) => name.length));
      for (const { name, ok, words } of findings) {
        const text = `${ok ? 'ok   ' : 'FAULT'}  ${name.padEnd(width)}  ${words.replaceAll('\n', `\n${' '.repeat(9 + width)}`)}`;
        await output.one(text, { check: name, ok, detail: words });
      }
      if (findings.some(({ ok }) => !ok)) state.exitCode = 1;
    });
}
