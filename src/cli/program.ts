import { Command, CommanderError } from 'commander';
import { hint } from '../config/nearest.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { addAccountCommands } from './commands/account.ts';
import { addBackupCommands } from './commands/backup.ts';
import { addCreditCommands } from './commands/credit.ts';
import { addDatasetCommands } from './commands/dataset.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addExportCommands } from './commands/exports.ts';
import { addFactCommands } from './commands/facts.ts';
import { addKeyCommands } from './commands/key.ts';
import { addPublicationCommands } from './commands/models.ts';
import { addNodeCommands } from './commands/node.ts';
import { addRouteCommands } from './commands/route.ts';
import { addServerCommands } from './commands/server.ts';
import { addSlotCommands } from './commands/slot.ts';
import type { CliContext } from './context.ts';
import { ownOptionsFirst } from './options.ts';

const examples = `
Examples:
  naru up                                        serve on http://127.0.0.1:8787
  naru account create --name 홍길동              create an account and print its id
  naru credit grant --account 2 --amount 5000    grant ₩5,000 of credit
  naru key create --account 2 --name laptop      create a key and print it once

All commands work while the server runs and accept --json (one JSON object per line), --data-dir and --config.
Exit codes: 0 success, 1 failure, 2 usage error.`;

/** Runs one command line and returns the exit code: 0 success, 1 failure, 2 usage error. */
export async function runCli(cli: CliContext, args: readonly string[]): Promise<number> {
  const state = { exitCode: 0 };
  const program = new Command('naru')
    .description('An inference gateway that bills exactly, in Korean won.')
    .version(cli.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help for a command')
    .helpCommand(false)
    .configureHelp({ visibleOptions: ownOptionsFirst })
    .addHelpText('after', examples)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void cli.out(text), writeErr: (text) => cli.err(text) })
    .showHelpAfterError('(see --help)');
  addServerCommands(program, cli, state);
  addDoctorCommand(program, cli, state);
  addAccountCommands(program, cli);
  addCreditCommands(program, cli);
  addKeyCommands(program, cli);
  addExportCommands(program, cli, state);
  const models = program
    .command('models')
    .description('the model catalogue and its prices')
    .helpCommand(false);
  addPublicationCommands(models, cli, state);
  addFactCommands(models, cli);
  addBackupCommands(program, cli, state);
  addSlotCommands(program, cli, state);
  addRouteCommands(program, cli);
  addDatasetCommands(program, cli, state);
  addNodeCommands(program, cli);
  try {
    rejectUnclearOptions(program, args);
    await program.parseAsync([...args], { from: 'user' });
    return state.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof OperatorError)) throw error;
    cli.err(`naru: ${error.message}\n`);
    return 1;
  }
}

/** A caller may override the paths and the options of `up` that a script sets; options that change the ledger may not repeat. */
function mayRepeat(command: Command, flag: string): boolean {
  return command.name() === 'up' || flag === '--config' || flag === '--data-dir';
}

/**
 * Rejects misspelt, valueless and repeated options before commander reports a missing one: `--amont 5` is a misspelt amount, not
 * a missing one.
 */
function rejectUnclearOptions(program: Command, args: readonly string[]): void {
  let command = program;
  let isValue = false;
  const seen = new Map<string, string>();
  for (const [index, arg] of args.entries()) {
    if (arg === '--') return;
    const below = command.commands.find((one) => one.name() === arg);
    if (below !== undefined && index < 2) command = below;
    const [flag = ''] = arg.split('=');
    if (isValue || !flag.startsWith('--') || flag === '--help' || flag === '--version') {
      isValue = false;
      continue;
    }
    if (command.commands.length > 0) continue;
    const option = command.options.find(({ long }) => long === flag);
    const known = command.options.map(({ long }) => long ?? '');
    if (option === undefined)
      command.error(`error: unknown option '${flag}'${hint(flag, known)}`, { exitCode: 2 });
    const takesValue = option?.required === true;
    isValue = takesValue && !arg.includes('=');
    const value = isValue ? (args[index + 1] ?? '') : arg.slice(flag.length + 1);
    // An option where a value belongs is a forgotten value; `--memo=--kind` passes it as the value.
    if (isValue && known.includes(value))
      command.error(`error: option '${flag}' has no value before '${value}'`, { exitCode: 2 });
    const before = seen.get(flag);
    if (takesValue && before !== undefined && before !== value && !mayRepeat(command, flag))
      command.error(`error: option '${flag}' is given twice, as '${before}' and as '${value}'`, {
        exitCode: 2,
      });
    seen.set(flag, value);
  }
}
