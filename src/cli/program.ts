import { type Command, CommanderError } from 'commander';
import { OperatorError } from '../errors/operator-error.ts';
import { OutputClosed } from '../errors/output-closed.ts';
import { addAccountCommands } from './commands/account.ts';
import { addAuditCommand } from './commands/audit.ts';
import { addBackupCommands } from './commands/backup.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addConsoleCommand } from './commands/console-link.ts';
import { addCreditCommands } from './commands/credit.ts';
import { addDatabaseCommands } from './commands/database.ts';
import { addDatasetCommands } from './commands/dataset.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addExportCommands } from './commands/exports.ts';
import { addFactCommands } from './commands/facts.ts';
import { addKeyCommands } from './commands/key.ts';
import { addPublicationCommands } from './commands/models.ts';
import { addNodeCommands } from './commands/node.ts';
import { addOperatorCommands } from './commands/operator.ts';
import { addRouteCommands } from './commands/route.ts';
import { addServerCommands } from './commands/server.ts';
import { addServiceCommand } from './commands/service.ts';
import { addSessionCommands } from './commands/session.ts';
import { addSlotCommands } from './commands/slot.ts';
import { addTopupCommands } from './commands/topup.ts';
import { addUsageCommands } from './commands/usage.ts';
import type { CliContext } from './context.ts';
import { ownOptionsFirst } from './options.ts';
import { createProgress } from './progress.ts';
import { StrictCommand } from './strict-command.ts';

const examples = `
Examples:
  naru up                                        serve on http://127.0.0.1:8787
  naru account create --name 홍길동              create an account and print its id
  naru credit grant --account 2 --amount 5000    grant ₩5,000 of credit
  naru key create --account 2 --name laptop      create a key and print it once

All commands work while the server runs and accept --json (one JSON object per line), --data-dir and --config.
Exit codes: 0 success, 1 failure, 2 usage error.`;

/** Runs one command line and returns the exit code: 0 success, 1 failure, 2 usage error. */
export async function runCli(proc: CliContext, args: readonly string[]): Promise<number> {
  const state: CliState = { exitCode: 0 };
  // The audit log names whom `--as` states.
  const cli = { ...proc, progress: createProgress(proc) };
  const program = createProgram(cli, state);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return state.exitCode;
  } catch (error) {
    cli.progress(null);
    if (error instanceof OutputClosed) return state.exitCode;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof OperatorError)) throw error;
    cli.err(`naru: ${error.message}\n`);
    return 1;
  } finally {
    cli.progress(null);
  }
}

/** The exit code of a command that failed without an error. */
interface CliState {
  exitCode: number;
}

/** Every command, none of which is run. */
export function createProgram(cli: CliContext & { user: string }, state: CliState): Command {
  const program = new StrictCommand('naru')
    .description('An inference gateway that bills exactly, in Korean won.')
    .version(cli.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help for a command')
    .helpCommand(false)
    .configureHelp({ visibleOptions: ownOptionsFirst })
    .addHelpText('after', examples)
    .exitOverride()
    .hook('preAction', (_program, command) => {
      const { as } = command.opts<{ as?: string }>();
      if (as !== undefined) cli.user = as;
    })
    .configureOutput({
      writeOut: (text) => void cli.out(text).catch(() => {}),
      writeErr: (text) => cli.err(text),
    })
    .showHelpAfterError('(see --help)');
  addServerCommands(program, cli, state);
  addDoctorCommand(program, cli, state);
  addServiceCommand(program, cli);
  addAccountCommands(program, cli);
  addCreditCommands(program, cli);
  addTopupCommands(program, cli);
  addKeyCommands(program, cli);
  addExportCommands(program, cli, state);
  addUsageCommands(program, cli);
  const models = program
    .command('models')
    .description('list and publish models and their prices')
    .helpCommand(false);
  addPublicationCommands(models, cli, state);
  addFactCommands(models, cli);
  addBackupCommands(program, cli, state);
  addDatabaseCommands(program, cli);
  addSlotCommands(program, cli, state);
  addRouteCommands(program, cli);
  addDatasetCommands(program, cli, state);
  addNodeCommands(program, cli);
  addOperatorCommands(program, cli);
  addConsoleCommand(program, cli);
  addSessionCommands(program, cli);
  addAuditCommand(program, cli);
  addCompletionCommand(program, cli);
  return program;
}
