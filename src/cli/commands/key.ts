import { type Command, Option } from 'commander';
import type { OperatorService } from '../../app/operator-service.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import type { KeyHash, KeyKind } from '../../ids/api-key.ts';
import type { KeyRow } from '../../keys/keys.ts';
import { spendOf } from '../../keys/spend.ts';
import { type KeyStanding, keyStandings } from '../../keys/standing.ts';
import { type Krw, krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import { isoOf } from '../../time/clock.ts';
import { type LimitReset, limitResets } from '../../time/period.ts';
import { accountId, instant, isPast, keyHash, limitKrw, name } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import {
  assertAccount,
  type CommonOptions,
  noAccount,
  withCommonOptions,
  withOperatorService,
} from '../options.ts';
import type { Row } from '../output.ts';

interface CreateFlags extends CommonOptions {
  readonly account: number;
  readonly kind: KeyKind;
  readonly name: string;
  readonly limit?: Krw;
  readonly limitReset: LimitReset;
  readonly expiresAt?: number;
}

const columns = [
  'hash',
  'label',
  'kind',
  'name',
  'state',
  'limit_krw',
  'limit_reset',
  'usage_krw',
  'expires_at',
  'created_at',
];

/** `naru key create|list|show|suspend|unsuspend|revoke`. */
export function addKeyCommands(program: Command, cli: CliContext): void {
  const key = program.command('key').description('API keys').helpCommand(false);

  withCommonOptions(key.command('create'))
    .description('create a key; its plaintext is shown this once')
    .requiredOption('--account <id>', 'the account that it spends from', accountId)
    .requiredOption('--name <name>', 'what it is called', name)
    .addOption(
      new Option('--kind <kind>', 'what it may do').choices(['inference', 'management']).default('inference'),
    )
    .option('--limit <won>', 'the most it may spend in a period', limitKrw)
    .addOption(
      new Option('--limit-reset <period>', 'when its spend counts anew')
        .choices(limitResets)
        .default('never'),
    )
    .option('--expires-at <instant>', 'from when on it is refused', instant)
    .action((flags: CreateFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        await create(operator, flags, output);
        if (isPast(flags.expiresAt)) cli.err('naru: --expires-at is in the past: the key is never let in\n');
      }),
    );

  withCommonOptions(key.command('list'))
    .description('every key of an account, newest first, revoked ones included')
    .requiredOption('--account <id>', 'the account', accountId)
    .addOption(
      new Option('--state <state...>', 'only keys in one of these states').choices([...keyStandings]),
    )
    .action((flags: CommonOptions & { account: number; state?: readonly KeyStanding[] }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const keys = await operator.readKeys(flags.account);
        const rows = await rowsOf(operator, flags.account, keys);
        const { state } = flags;
        await output.rows(
          columns,
          state === undefined ? rows : rows.filter((row) => state.includes(row.state)),
        );
      }),
    );

  withCommonOptions(key.command('show'))
    .description('one key')
    .argument('<hash>', 'the key', keyHash)
    .action((hash: KeyHash, flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) =>
        output.rows(columns, [await rowOf(operator, await found(operator, hash))]),
      ),
    );

  const change = (
    verb: string,
    description: string,
    act: (operator: OperatorService, hash: KeyHash, reason: string | null) => Promise<boolean>,
  ) =>
    withCommonOptions(key.command(verb))
      .description(description)
      .argument('<hash>', 'the key', keyHash)
      .option('--reason <text>', 'a note for whoever looks later')
      .action((hash: KeyHash, flags: CommonOptions & { reason?: string }) =>
        withOperatorService(cli, flags, async (operator, output) => {
          if (!(await act(operator, hash, flags.reason ?? null))) throw noKey(hash);
          const row = await rowOf(operator, await found(operator, hash));
          await output.one(`${row['label']} is ${row['state']}`, row);
        }),
      );
  change('suspend', 'suspend a key; a top-up does not lift it', (operator, hash, reason) =>
    operator.suspendKey({ hash, suspended: true, reason }),
  );
  change('unsuspend', 'lift a suspension', (operator, hash) =>
    operator.suspendKey({ hash, suspended: false, reason: null }),
  );
  change('revoke', 'revoke a key for good', (operator, hash) => operator.revokeKey(hash));
}

async function create(
  operator: OperatorService,
  flags: CreateFlags,
  output: { one(text: string, row: object): Promise<void> },
): Promise<void> {
  await assertAccount(operator, flags.account);
  const { hash, plaintext } = await operator.createKey({
    accountId: flags.account,
    kind: flags.kind,
    name: flags.name,
    limit: flags.limit ?? null,
    limitReset: flags.limitReset,
    expiresAtMs: flags.expiresAt ?? null,
  });
  const text = `${plaintext}\n(the key is shown this once; its hash is ${hash})`;
  await output.one(text, { hash, key: plaintext, ...(await rowOf(operator, await found(operator, hash))) });
}

async function found(operator: OperatorService, hash: KeyHash): Promise<KeyRow> {
  const row = await operator.readKey(hash);
  if (row === null) throw noKey(hash);
  return row;
}

function noKey(hash: KeyHash): OperatorError {
  return new OperatorError(`there is no key with the hash ${hash}`);
}

/** Throws a `OperatorError` when there is no such account. */
async function rowsOf(
  operator: OperatorService,
  account: number,
  keys: readonly KeyRow[],
): Promise<readonly KeyLine[]> {
  const standings = await operator.readStandings(account);
  if (standings === null) throw noAccount(account);
  return Promise.all(
    keys.map(async (row) => {
      const { standing, isDisabled } = standings(row);
      return lineOf(row, spendOf(await operator.readSpend(row), row.limitReset), {
        state: standing,
        disabled: isDisabled,
      });
    }),
  );
}

async function rowOf(operator: OperatorService, row: KeyRow): Promise<KeyLine> {
  const [line] = await rowsOf(operator, row.accountId, [row]);
  if (line === undefined) throw new Error('a key has one line');
  return line;
}

interface KeyLine extends Row {
  readonly state: KeyStanding;
}

function lineOf(row: KeyRow, usage: bigint, state: { state: KeyStanding; disabled: boolean }): KeyLine {
  return {
    hash: row.hash,
    account_id: row.accountId,
    label: row.label,
    kind: row.kind,
    name: row.name,
    ...state,
    limit_krw: row.limitMicro === null ? null : krwToDecimal(krwOfMicro(row.limitMicro)),
    limit_reset: row.limitReset,
    usage_krw: krwToDecimal(krwOfMicro(usage)),
    expires_at: row.expiresAtMs === null ? null : isoOf(row.expiresAtMs),
    created_at: isoOf(row.createdAtMs),
  };
}
