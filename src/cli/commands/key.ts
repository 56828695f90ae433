import { type Command, Option } from 'commander';
import type { KeyHash, KeyKind } from '../../accounts/api-key.ts';
import { type KeyRow, restrictionsOf } from '../../accounts/keys.ts';
import type { RestrictionChange } from '../../accounts/keys-sql.ts';
import { type KeyStanding, keyStandings } from '../../accounts/rules.ts';
import { spendOf } from '../../accounts/spend.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { type Krw, krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import type { OperatorService } from '../../operations/operator-service.ts';
import { isoOf } from '../../time/clock.ts';
import { type LimitReset, limitResets } from '../../time/period.ts';
import {
  accountId,
  instant,
  isPast,
  keyHash,
  limitKrw,
  name,
  names,
  perMinute,
  visibleText,
} from '../arguments.ts';
import type { CliContext } from '../context.ts';
import {
  assertAccount,
  type CommonOptions,
  findKey,
  noAccount,
  withCommonOptions,
  withOperatorService,
} from '../options.ts';
import type { Row } from '../output.ts';

interface RestrictionFlags {
  readonly allowedModels?: readonly string[] | 'none';
  readonly allowedProviders?: readonly string[] | 'none';
  readonly rpmLimit?: number | 'none';
}

interface CreateFlags extends CommonOptions, RestrictionFlags {
  readonly account: number;
  readonly kind: KeyKind;
  readonly name: string;
  readonly limit?: Krw;
  readonly limitReset: LimitReset;
  readonly expiresAt?: number;
}

interface ChangeFlags extends RestrictionFlags {
  readonly reason?: string;
  readonly now?: boolean;
  readonly limit?: Krw | 'none';
  readonly limitReset?: LimitReset;
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
  'allowed_models',
  'allowed_providers',
  'rpm_limit',
  'expires_at',
  'created_at',
];

/** `naru key create|list|show|limit|suspend|unsuspend|revoke`. */
export function addKeyCommands(program: Command, cli: CliContext): void {
  const key = program.command('key').description('manage API keys').helpCommand(false);
  addCreate(key, cli);
  addList(key, cli);
  addShow(key, cli);
  addChanges(key, cli);
}

function addCreate(key: Command, cli: CliContext): void {
  withRestrictions(withCommonOptions(key.command('create')))
    .description('create a key; its plaintext is printed only once')
    .requiredOption('--account <id>', 'account that pays for its requests', accountId)
    .requiredOption('--name <name>', 'key name', name)
    .addOption(
      new Option('--kind <kind>', 'permitted use').choices(['inference', 'management']).default('inference'),
    )
    .option('--limit <won>', 'spend limit in won per period', limitKrw)
    .addOption(
      new Option('--limit-reset <period>', 'spend reset period').choices(limitResets).default('never'),
    )
    .option('--expires-at <instant>', 'when the key expires, such as 2026-12-31T23:59:59+09:00', instant)
    .action((flags: CreateFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        await create(operator, flags, output);
        if (isPast(flags.expiresAt))
          cli.err('naru: warning: --expires-at is in the past; the key will always be rejected\n');
      }),
    );
}

function addList(key: Command, cli: CliContext): void {
  withCommonOptions(key.command('list'))
    .description('list all keys of an account, newest first, including revoked ones')
    .requiredOption('--account <id>', 'account id', accountId)
    .addOption(new Option('--state <state...>', 'only keys in these states').choices([...keyStandings]))
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
}

function addShow(key: Command, cli: CliContext): void {
  withCommonOptions(key.command('show'))
    .description('show one key')
    .argument('<hash>', 'key hash', keyHash)
    .action((hash: string, flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) =>
        output.rows(columns, [await rowOf(operator, await findKey(operator, hash))]),
      ),
    );
}

function addChanges(key: Command, cli: CliContext): void {
  const change = (
    verb: string,
    description: string,
    act: (
      operator: OperatorService,
      hash: KeyHash,
      flags: Omit<ChangeFlags, 'reason'> & { readonly reason: string | null; readonly now: boolean },
    ) => Promise<boolean>,
  ): Command =>
    withCommonOptions(key.command(verb))
      .description(description)
      .argument('<hash>', 'key hash', keyHash)
      .option('--reason <text>', 'reason, for the audit log', visibleText)
      .action((named: string, flags: CommonOptions & ChangeFlags) =>
        withOperatorService(cli, flags, async (operator, output) => {
          const { reason = null, now = false } = flags;
          const { hash } = await findKey(operator, named);
          await act(operator, hash, { ...flags, reason, now });
          const row = await rowOf(operator, await findKey(operator, hash));
          const limit =
            row['limit_krw'] === null
              ? 'no limit'
              : `limited to ₩${row['limit_krw']} (${row['limit_reset']})`;
          const restrictions = Object.keys(restrictionsOf({ restrictions: null })).flatMap((name) =>
            row[name] === null ? [] : [`, ${name} ${row[name]}`],
          );
          await output.one(`${row['label']} is ${row['state']}, ${limit}${restrictions.join('')}`, row);
        }),
      );
  const now = ['--now', 'end its calls in flight too; what they generated is billed'] as const;
  change(
    'suspend',
    'suspend a key; a top-up does not end the suspension',
    (operator, hash, { reason, now: endsCalls }) =>
      operator.suspendKey({ hash, suspended: true, reason, endsCalls }),
  ).option(...now);
  change('unsuspend', 'end a suspension', (operator, hash, { reason }) =>
    operator.suspendKey({ hash, suspended: false, reason }),
  );
  const limiting = change(
    'limit',
    'change the limits of a key and what it may use; running servers apply it within a second',
    (operator, hash, { limit, limitReset, reason, ...flags }) => {
      const restrictions = restrictionsIn(flags);
      if ([limit, limitReset, ...Object.values(restrictions)].every((value) => value === undefined))
        throw new OperatorError('state what to change, such as --limit');
      const stated = {
        restrictions,
        ...(limit === undefined ? {} : { limitMicro: limit === 'none' ? null : limit }),
        ...(limitReset === undefined ? {} : { limitReset }),
      };
      return operator.limitKey(hash, stated, reason);
    },
  )
    .option('--limit <won>', 'spend limit in won per period, or none', (text) =>
      text === 'none' ? text : limitKrw(text),
    )
    .addOption(new Option('--limit-reset <period>', 'spend reset period').choices(limitResets));
  withRestrictions(limiting);
  change('revoke', 'revoke a key permanently', (operator, hash, { reason, now: endsCalls }) =>
    operator.revokeKey(hash, reason, endsCalls),
  ).option(...now);
}

/** Adds the options of what a key may use. */
function withRestrictions(command: Command): Command {
  return command
    .option(
      '--allowed-models <ids>',
      'the only models that it may call, such as openai/*,a/b, or none',
      names,
    )
    .option('--allowed-providers <names>', 'the only providers that may serve it, or none', names)
    .option('--rpm-limit <count>', 'requests per minute, or none', perMinute);
}

function restrictionsIn(flags: RestrictionFlags): RestrictionChange {
  const stated = <T>(value: T | 'none'): T | null => (value === 'none' ? null : value);
  return {
    allowed_models: stated(flags.allowedModels),
    allowed_providers: stated(flags.allowedProviders),
    rpm_limit: stated(flags.rpmLimit),
  };
}

async function create(
  operator: OperatorService,
  flags: CreateFlags,
  output: { one(text: string, row: object): Promise<void> },
): Promise<void> {
  const account = await assertAccount(operator, flags.account);
  if (account.closedAtMs !== null) throw new OperatorError(`account ${flags.account} is closed`);
  const { hash, plaintext } = await operator.createKey({
    accountId: flags.account,
    kind: flags.kind,
    name: flags.name,
    limit: flags.limit ?? null,
    limitReset: flags.limitReset,
    expiresAtMs: flags.expiresAt ?? null,
    restrictions: restrictionsIn(flags),
  });
  const text = `${plaintext}\n(the key is not shown again; its hash is ${hash})`;
  await output.one(text, { hash, key: plaintext, ...(await rowOf(operator, await findKey(operator, hash))) });
}

/** Throws an `OperatorError` when the account does not exist. */
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
    ...restrictionsOf(row),
    expires_at: row.expiresAtMs === null ? null : isoOf(row.expiresAtMs),
    created_at: isoOf(row.createdAtMs),
  };
}
