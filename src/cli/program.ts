import { Command, CommanderError } from 'commander';
import { addAccountCommands } from './commands/account.ts';
import { addCreditCommands } from './commands/credit.ts';
import { addExportCommands } from './commands/exports.ts';
import { addKeyCommands } from './commands/key.ts';
import { addServerCommands } from './commands/server.ts';
import { CliError, type Shell } from './shell.ts';

/** Runs one command line and returns the exit code: 0 done, 1 failed or found something wrong, 2 not understood. */
export async function runCli(shell: Shell, args: readonly string[]): Promise<number> {
  const state = { exitCode: 0 };
  const program = new Command('naru')
    .description('An inference gateway that bills exactly, in won.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => void shell.out(text), writeErr: (text) => shell.err(text) })
    .showHelpAfterError('(naru --help shows the commands)');
  addServerCommands(program, shell, state);
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
