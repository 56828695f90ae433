import { Command, CommanderError } from 'commander';
import { addAccountCommands } from './commands/account.ts';
import { addCreditCommands } from './commands/credit.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addExportCommands } from './commands/exports.ts';
import { addKeyCommands } from './commands/key.ts';
import { addServerCommands } from './commands/server.ts';
import { CliError, type Shell } from './shell.ts';

const examples = `
Examples:
  naru up                                        serve on http://127.0.0.1:8787
  naru account create --name 홍길동              an account; its id is printed
  naru credit grant --account 2 --amount 5000    ₩5,000 of credit
  naru key create --account 2 --name laptop      a key; shown this once

Every command takes --json (one JSON object a line), --data-dir and --config, and works while the server runs.
Exit codes: 0 done, 1 failed or found something wrong, 2 not understood.`;

/** Runs one command line and returns the exit code: 0 done, 1 failed or found something wrong, 2 not understood. */
export async function runCli(shell: Shell, args: readonly string[]): Promise<number> {
  const state = { exitCode: 0 };
  const program = new Command('naru')
    .description('An inference gateway that bills exactly, in won.')
    .version(shell.version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'explain a command')
    .helpCommand(false)
    .addHelpText('after', examples)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void shell.out(text), writeErr: (text) => shell.err(text) })
    .showHelpAfterError('(--help explains the command)');
  addServerCommands(program, shell, state);
  addDoctorCommand(program, shell, state);
  addAccountCommands(program, shell);
  addCreditCommands(program, shell);
  addKeyCommands(program, shell);
  addExportCommands(program, shell, state);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return state.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof CliError)) throw error;
    shell.err(`naru: ${error.message}\n`);
    return 1;
  }
}
