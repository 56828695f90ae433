import type { Command } from 'commander';
import type { AccountRow } from '../../accounts/accounts-sql.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import type { Email } from '../../identity/email.ts';
import type { InviteFault, ReplaceFault } from '../../identity/links.ts';
import { krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import type { PersonalData } from '../../operations/erasure-sql.ts';
import { isoOf } from '../../time/clock.ts';
import { accountId, businessNumber, email, name, visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { printLink } from '../link.ts';
import { type CommonOptions, noAccount, withCommonOptions, withOperatorService } from '../options.ts';
import type { Row } from '../output.ts';

const columns = [
  'account_id',
  'name',
  'email',
  'business_number',
  'balance_krw',
  'total_credits_krw',
  'total_usage_krw',
  'suspended_at',
  'closed_at',
  'created_at',
];

/** What is said of the data of a person, by the members of `PersonalData`. */
const erasure = {
  removed: {
    account_name: 'becomes the id',
    contact_address: '',
    owner: 'name, address, password, second factor, preferences',
    passkeys: '',
    openid_identities: '',
    sessions: '',
    links: 'invitations and their addresses',
    key_names: 'become the labels',
    app_names: 'names that the owner gave',
    topup_texts: 'notes, and depositors of top-ups that were not paid',
    messages: 'e-mails, webhooks and what was chosen for them',
  },
  kept: {
    ledger_entries: 'with their memos: the balance follows from them, and the law keeps payments for 5 years',
    paid_topups: 'with depositor and bank reference: the law keeps payments for 5 years',
    business_number: 'of tax invoices: the law keeps them for 5 years',
    generations: 'what was billed, without prompts and responses; naru generation prune deletes old ones',
    keys: 'hashes, so that no revoked key is used again',
    audit_entries: 'they name ids; the address is replaced in their reasons',
  },
} as const;

/** `naru account create|list|show|rename|suspend|resume|close|reopen|erase-person|invite|replace-person`. */
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
        const { used, expired, deducted } = await operator.readUsageParts(found);
        const parts = { used_krw: won(used), expired_krw: won(expired), deducted_krw: won(deducted) };
        await output.rows([...columns, ...Object.keys(parts)], [{ ...rowOf(found), ...parts }]);
      }),
    );

  withCommonOptions(account.command('rename'))
    .description('rename an account')
    .argument('<id>', 'account id', accountId)
    .requiredOption('--name <name>', 'new account name', name)
    .action((id: number, flags: CommonOptions & { name: string }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        if (!(await operator.renameAccount(id, flags.name))) throw noAccount(id);
        await output.one(`account ${id} is ${flags.name}`, { account_id: id, name: flags.name });
      }),
    );

  withCommonOptions(account.command('business-number'))
    .description('set the business number of an account, for tax invoices; none: remove it')
    .argument('<id>', 'account id', accountId)
    .argument('<number>', 'business number, such as 124-81-00998, or none', businessNumber)
    .action((id: number, digits: string | null, flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) => {
        if (!(await operator.setBusinessNumber(id, digits))) throw noAccount(id);
        const text = digits === null ? 'has no business number' : `has the business number ${digits}`;
        await output.one(`account ${id} ${text}`, { account_id: id, business_number: digits });
      }),
    );

  addSuspensionCommands(account, cli);
  addClosureCommands(account, cli);
  addErasePerson(account, cli);
  addOwnerCommands(account, cli);
}

function addOwnerCommands(account: Command, cli: CliContext): void {
  withCommonOptions(account.command('invite'))
    .description(
      'print a one-time link, valid for 24 hours, with which a person becomes the owner of an account; for the address of the present owner, the link resets the password',
    )
    .requiredOption('--account <id>', 'account id', accountId)
    .option('--email <address>', 'verified address of the person (default: the person enters it)', email)
    .action((flags: CommonOptions & { account: number; email?: Email }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const link = await operator.identity.links.invite(flags.account, flags.email ?? null, operator.actor);
        if (typeof link === 'string') throw ownerFault(link, flags.account, flags.email ?? null);
        await printLink(cli, flags, output, link, { account_id: flags.account });
      }),
    );

  withCommonOptions(account.command('replace-person'))
    .description(
      'give an account to another person: the sessions, passkeys and password of the present owner end at once, and a one-time link lets the new owner set a password; keys stay valid, so revoke those that the former owner knows',
    )
    .argument('<id>', 'account id', accountId)
    .requiredOption('--email <address>', 'verified address of the new owner', email)
    .requiredOption('--reason <text>', 'reason, for the audit log', visibleText)
    .action((id: number, flags: CommonOptions & { email: Email; reason: string }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { links } = operator.identity;
        const link = await links.replaceOwner(id, flags.email, flags.reason, operator.actor);
        if (typeof link === 'string') throw ownerFault(link, id, flags.email);
        await printLink(cli, flags, output, link, { account_id: id });
      }),
    );
}

function ownerFault(fault: InviteFault | ReplaceFault, id: number, address: Email | null): OperatorError {
  switch (fault) {
    case 'no_such_account':
      return noAccount(id);
    case 'account_closed':
      return new OperatorError(`account ${id} is closed; run naru account reopen first`);
    case 'email_taken':
      return new OperatorError(`${address?.text} is the address of the owner of another account`);
    case 'account_has_owner':
      return new OperatorError(
        `account ${id} has an owner, and an account has one; use its address to reset the password, or naru account replace-person to give the account to another person`,
      );
    case 'no_owner':
      return new OperatorError(`account ${id} has no owner yet; use naru account invite`);
    case 'same_owner':
      return new OperatorError(`${address?.text} is the address of the present owner of account ${id}`);
  }
}

function addSuspensionCommands(account: Command, cli: CliContext): void {
  for (const [verb, description] of [
    ['suspend', 'reject all keys of an account, also those that are created later'],
    ['resume', 'lift the suspension of an account; suspensions of single keys stay'],
  ] as const)
    withCommonOptions(account.command(verb))
      .description(`${description}; running servers apply it within a second`)
      .argument('<id>', 'account id', accountId)
      .requiredOption('--reason <text>', 'reason, for the audit log', visibleText)
      .action((id: number, flags: CommonOptions & { reason: string }) =>
        withOperatorService(cli, flags, async (operator, output) => {
          const suspended = verb === 'suspend';
          const outcome = await operator.suspendAccount({ accountId: id, suspended, reason: flags.reason });
          if (outcome.kind === 'not_found') throw noAccount(id);
          const repeated = outcome.kind === 'unchanged';
          const state = `${repeated ? 'already ' : ''}${suspended ? 'suspended' : 'not suspended'}`;
          await output.one(`account ${id} is ${state}`, { account_id: id, suspended, repeated });
        }),
      );
}

function addClosureCommands(account: Command, cli: CliContext): void {
  for (const [verb, description] of [
    [
      'close',
      'close an account: its keys are revoked, its sessions end, nobody signs in for it, and no credit is granted to it; the balance stays in the ledger until naru credit adjust deducts what is paid out',
    ],
    ['reopen', 'open a closed account again; its keys stay revoked'],
  ] as const)
    withCommonOptions(account.command(verb))
      .description(description)
      .argument('<id>', 'account id', accountId)
      .requiredOption('--reason <text>', 'reason, for the audit log', visibleText)
      .action((id: number, flags: CommonOptions & { reason: string }) =>
        withOperatorService(cli, flags, async (operator, output) => {
          const closed = verb === 'close';
          const outcome = await operator.closeAccount({ accountId: id, closed, reason: flags.reason });
          const row = await operator.readAccount(id);
          if (outcome.kind === 'not_found' || row === null) throw noAccount(id);
          const repeated = outcome.kind === 'unchanged';
          const { balance_krw } = rowOf(row);
          const left = closed ? `; its balance of ${balance_krw} won stays in the ledger` : '';
          await output.one(
            `account ${id} is ${repeated ? 'already ' : ''}${closed ? 'closed' : 'open'}${left}`,
            {
              account_id: id,
              closed,
              repeated,
              balance_krw,
            },
          );
        }),
      );
}

function won(micro: bigint): string {
  return krwToDecimal(krwOfMicro(micro));
}

function addErasePerson(account: Command, cli: CliContext): void {
  withCommonOptions(account.command('erase-person'))
    .description(
      'show what of a closed account is data of its person, and what must stay and why; with --yes, erase the former for ever',
    )
    .argument('<id>', 'account id', accountId)
    .option('--yes', 'erase it; backups keep it until their retention ends')
    .option(
      '--former <address...>',
      'also erase the addresses of earlier owners from the reasons of the account',
      (text: string, before: readonly string[] = []) => [...before, email(text).text],
    )
    .action((id: number, flags: CommonOptions & { yes?: true; former?: readonly string[] }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const data = await operator.readPersonalData(id);
        if (data === null) throw noAccount(id);
        if (flags.yes !== true) {
          await output.rows(['data', 'count', 'act', 'note'], erasureRows(data));
          cli.err('naru: nothing was erased: pass --yes. Backups keep it until their retention ends.\n');
          return;
        }
        const { kind } = await operator.erasePerson(id, flags.former);
        if (kind === 'open') throw new OperatorError(`account ${id} is open; run naru account close first`);
        const repeated = kind === 'unchanged';
        await output.one(`the person of account ${id} is ${repeated ? 'already ' : ''}erased`, {
          account_id: id,
          erased: true,
          repeated,
          ...data,
        });
      }),
    );
}

function* erasureRows(data: PersonalData): Generator<Row> {
  for (const act of ['removed', 'kept'] as const)
    for (const [name, note] of Object.entries(erasure[act])) {
      const count: number = data[act][name as never];
      if (count > 0) yield { data: name, count, act, note };
    }
}

function rowOf(account: AccountRow): Row {
  return {
    account_id: account.accountId,
    name: account.name,
    email: account.email,
    business_number: account.businessNumber,
    balance_krw: won(account.credits - account.usage),
    total_credits_krw: won(account.credits),
    total_usage_krw: won(account.usage),
    suspended_at: account.suspendedAtMs === null ? null : isoOf(account.suspendedAtMs),
    closed_at: account.closedAtMs === null ? null : isoOf(account.closedAtMs),
    created_at: isoOf(account.createdAtMs),
  };
}
