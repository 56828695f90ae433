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
  naru account create --name 홍길동              an account; its id is printed
  naru credit grant --account 2 --amount 5000    ₩5,000 of credit
  naru key create --account 2 --name laptop      a key; shown this once

Every command takes --json (one JSON object a line), --data-dir and --config, and works while the server runs.
Exit codes: 0 done, 1 failed or found something wrong, 2 not understood.`;

/** Runs one command line and returns the exit code: 0 done, 1 failed or found something wrong, 2 not understood. */
export async function runCli(cli: CliContext, args: readonly string[]): Promise<number> {
  const state = { exitCode: 0 };
  const program = new Command('naru')
    .description('An inference gateway that bills exactly, in won.')
    .version(cli.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'explain a command')
    .helpCommand(false)
    .configureHelp({ visibleOptions: ownOptionsFirst })
    .addHelpText('after', examples)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void cli.out(text), writeErr: (text) => cli.err(text) })
    .showHelpAfterError('(--help explains the command)');
  addServerCommands(program, cli, state);
  addDoctorCommand(program, cli, state);
  addAccountCommands(program, cli);
  addCreditCommands(program, cli);
  addKeyCommands(program, cli);
  addExportCommands(program, cli, state);
  const models = program.command('models').description('the catalogue and its prices').helpCommand(false);
  addPublicationCommands(models, cli, state);
  addFactCommands(models, cli);
  addBackupCommands(program, cli, state);
  addSlotCommands(program, cli, state);
  addRouteCommands(program, cli);
  addDatasetCommands(program, cli, state);
  addNodeCommands(program, cli);
  try {
    refuseUnclearOptions(program, args);
    await program.parseAsync([...args], { from: 'user' });
    return state.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof OperatorError)) throw error;
    cli.err(`naru: ${error.message}\n`);
    return 1;
  }
}

/** Where things are, and how to serve, a script says and its caller says otherwise. What is done to the books is said once. */
function mayBeSaidAnew(command: Command, flag: string): boolean {
  return command.name() === 'up' || flag === '--config' || flag === '--data-dir';
}

/** Says which option was meant before saying that one is missing: `--amont 5` is a misspelt amount, not a missing one. Two amounts are one too many. */
function refuseUnclearOptions(program: Command, args: readonly string[]): void {
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
    // A word of our own in the place of a value is a value that was forgotten; `--memo=--kind` says that it is meant.
    if (isValue && known.includes(value))
      command.error(`error: option '${flag}' has no value before '${value}'`, { exitCode: 2 });
    const before = seen.get(flag);
    if (takesValue && before !== undefined && before !== value && !mayBeSaidAnew(command, flag))
      command.error(`error: option '${flag}' stands here twice, as '${before}' and as '${value}'`, {
        exitCode: 2,
      });
    seen.set(flag, value);
  }
}
