import type { Command } from 'commander';
import type { AccountRow } from '../../accounts/accounts.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import { isoOf } from '../../time/clock.ts';
import { accountId, name } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';
import type { Row } from '../output.ts';

const columns = [
  'account_id',
  'name',
  'email',
  'balance_krw',
  'total_credits_krw',
  'total_usage_krw',
  'created_at',
];

/** `naru account create|list|show`. */
export function addAccountCommands(program: Command, cli: CliContext): void {
  const account = program.command('account').description('manage accounts').helpCommand(false);

  withCommonOptions(account.command('create'))
    .description('create an account')
    .requiredOption('--name <name>', 'account name', name)
    .option('--email <address>', 'contact address', name)
    .action((flags: CommonOptions & { name: string; email?: string }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const id = await operator.createAccount({ name: flags.name, email: flags.email ?? null });
        await output.one(`created account ${id}`, {
          account_id: id,
          name: flags.name,
          email: flags.email ?? null,
        });
      }),
    );

  withCommonOptions(account.command('list'))
    .description('list all accounts with their balances')
    .action((flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) =>
        output.rows(columns, (await operator.readAccounts()).map(rowOf)),
      ),
    );

  withCommonOptions(account.command('show'))
    .description('show one account with its balance')
    .argument('<id>', 'account id', accountId)
    .action((id: number, flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const found = await operator.readAccount(id);
        if (found === null) throw new OperatorError(`no account ${id}`);
        await output.rows(columns, [rowOf(found)]);
      }),
    );
}

function rowOf(account: AccountRow): Row {
  return {
    account_id: account.accountId,
    name: account.name,
    email: account.email,
    balance_krw: krwToDecimal(krwOfMicro(account.credits - account.usage)),
    total_credits_krw: krwToDecimal(krwOfMicro(account.credits)),
    total_usage_krw: krwToDecimal(krwOfMicro(account.usage)),
    created_at: isoOf(account.createdAtMs),
  };
}
