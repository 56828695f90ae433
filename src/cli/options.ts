import { type Command, Help, Option } from 'commander';
import type { AccountRow } from '../accounts/accounts-sql.ts';
import type { KeyRow } from '../accounts/keys.ts';
import type { CliPaths } from '../app/config-source.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { OutcomeUnknown } from '../errors/outcome-unknown.ts';
import type { OperatorService } from '../operations/operator-service.ts';
import { periodAt } from '../time/period.ts';
import { seoulDay, seoulMonth, visibleText } from './arguments.ts';
import type { CliContext } from './context.ts';
import { Output } from './output.ts';

/** The options that every command has. */
export interface CommonOptions {
  readonly config?: string;
  readonly dataDir?: string;
  readonly json?: boolean;
  readonly csv?: boolean;
}

/** Adds the options that every command has. */
export function withCommonOptions(command: Command): Command {
  return command
    .option('--config <file>', 'configuration file (default: naru.yaml, or built-in defaults)', visibleText)
    .option(
      '--data-dir <dir>',
      'directory of the embedded database, the journal and the slot logs (default: .naru)',
      visibleText,
    )
    .option('--json', 'print one JSON object per line and nothing else')
    .option('--as <name>', 'your name for the audit log (default: system user and host)', visibleText);
}

/** The options of every export. */
export interface ExportFlags extends CommonOptions {
  readonly month?: number;
  readonly from?: number;
  readonly to?: number;
}

/** Adds the options of a command that exports rows by their day in Seoul. */
export function withExportOptions(command: Command): Command {
  return withCommonOptions(command)
    .addOption(new Option('--csv', 'print a CSV file (UTF-8 with a byte order mark)').conflicts('json'))
    .option('--from <day>', 'the first day (Seoul time), such as 2026-01-31', seoulDay)
    .option('--to <day>', 'the last day (Seoul time)', seoulDay);
}

/** The same with a month in place of the two days. */
export function withMonthOptions(command: Command): Command {
  return withExportOptions(command).addOption(
    new Option('--month <month>', 'a month (Seoul time), such as 2026-01')
      .argParser(seoulMonth)
      .conflicts(['from', 'to']),
  );
}

/** The instants of an export; null: no bound. Throws an `OperatorError` when the last day is before the first. */
export function spanOf({ month, from, to }: ExportFlags): {
  readonly fromMs: number | null;
  readonly toMs: number | null;
} {
  if (month !== undefined) return { fromMs: month, toMs: periodAt('monthly', month).endMs };
  if (from !== undefined && to !== undefined && to < from) throw new OperatorError('--to is before --from');
  return { fromMs: from ?? null, toMs: to === undefined ? null : periodAt('daily', to).endMs };
}

/** The options of a command in the order of its help: its own first, then the common ones. */
export function ownOptionsFirst(this: Help, command: Command): Option[] {
  const options = Help.prototype.visibleOptions.call(this, command);
  const isCommon = ({ long }: Option): boolean =>
    ['--config', '--data-dir', '--json', '--as', '--help'].includes(long ?? '');
  return [...options.filter((option) => !isCommon(option)), ...options.filter(isCommon)];
}

/** The paths that the options name. */
export function cliPaths(options: CommonOptions): CliPaths {
  return { config: options.config ?? null, dataDir: options.dataDir ?? null };
}

/** One account; throws an `OperatorError` when it does not exist. */
export async function assertAccount(operator: OperatorService, accountId: number): Promise<AccountRow> {
  const account = await operator.readAccount(accountId);
  if (account === null) throw noAccount(accountId);
  return account;
}

/**
 * The key whose hash is this or begins with it. Throws an `OperatorError` when there is none, or more
 * than one (spec:operator/1.24).
 */
export async function findKey(operator: OperatorService, hash: string): Promise<KeyRow> {
  const [key, ...others] = await operator.findKeys(hash);
  if (key === undefined) throw new OperatorError(`no key with hash ${hash}`);
  if (others.length === 0) return key;
  const candidates = [key, ...others].map(
    ({ hash, label, accountId }) => `\n  ${hash}  ${label} of account ${accountId}`,
  );
  throw new OperatorError(
    `the hashes of several keys begin with ${hash}; pass more digits:${candidates.join('')}`,
  );
}

/** The error of a command for an account that does not exist. */
export function noAccount(accountId: number): OperatorError {
  return new OperatorError(`no account ${accountId}`);
}

/**
 * Makes a change that has an effect once. When its outcome stays unknown, throws an `OperatorError`
 * that names the options with which the command may be run again.
 */
export async function once<T>(change: () => Promise<T>, again: string): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof OutcomeUnknown)) throw error;
    throw new OperatorError(
      `the outcome is not known: ${error.message}. Run the command again ${again}: it takes effect once`,
    );
  }
}

/** Opens the operator service for one command and always closes it. */
export async function withOperatorService(
  cli: CliContext,
  options: CommonOptions,
  work: (operator: OperatorService, output: Output) => Promise<void>,
): Promise<void> {
  const service = await cli.openOperatorService(cliPaths(options));
  try {
    const actor = { kind: 'cli', name: cli.user } as const;
    await work(service.as(actor), new Output(cli, options.json === true, options.csv === true));
  } finally {
    await service.close();
  }
}
