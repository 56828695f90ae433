import { type Command, Help, type Option } from 'commander';
import type { CliPaths } from '../app/cli-options.ts';
import type { OperatorService } from '../app/operator-service.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { words } from './arguments.ts';
import type { CliContext } from './context.ts';
import { Output } from './output.ts';

/** The options that every command has. */
export interface CommonOptions {
  readonly config?: string;
  readonly dataDir?: string;
  readonly json?: boolean;
}

/** Adds the options that every command has. */
export function withCommonOptions(command: Command): Command {
  return command
    .option('--config <file>', 'the configuration file (default: naru.yaml, or built-in defaults)', words)
    .option(
      '--data-dir <dir>',
      'where the embedded database, the journal and the slots live (default: .naru)',
      words,
    )
    .option('--json', 'print one JSON object a line and nothing else');
}

/** The options of a command as its help lists them: its own, then those that every command has. */
export function ownOptionsFirst(this: Help, command: Command): Option[] {
  const options = Help.prototype.visibleOptions.call(this, command);
  const isCommon = ({ long }: Option): boolean =>
    ['--config', '--data-dir', '--json', '--help'].includes(long ?? '');
  return [...options.filter((option) => !isCommon(option)), ...options.filter(isCommon)];
}

/** Where configuration and data are, as the options say. */
export function cliPaths(options: CommonOptions): CliPaths {
  return { config: options.config ?? null, dataDir: options.dataDir ?? null };
}

/** Throws a `OperatorError` when there is no such account. */
export async function assertAccount(operator: OperatorService, accountId: number): Promise<void> {
  if ((await operator.readAccount(accountId)) === null) throw noAccount(accountId);
}

/** The error of a command for an account that does not exist. */
export function noAccount(accountId: number): OperatorError {
  return new OperatorError(`there is no account ${accountId}`);
}

/** Opens the office for one command and closes it again whatever happens. */
export async function withOperatorService(
  cli: CliContext,
  options: CommonOptions,
  work: (operator: OperatorService, output: Output) => Promise<void>,
): Promise<void> {
  const service = await cli.openOperatorService(cliPaths(options));
  try {
    await work(service, new Output(cli, options.json === true));
  } finally {
    await service.close();
  }
}
