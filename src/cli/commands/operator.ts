import { type Command, Option } from 'commander';
import { OperatorError } from '../../errors/operator-error.ts';
import { type OperatorRole, operatorRoles } from '../../identity/audit.ts';
import type { OperatorFault } from '../../identity/operators.ts';
import type { Operator, OperatorToken } from '../../identity/operators-sql.ts';
import { isoOf } from '../../time/clock.ts';
import { instant, operatorName, visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { printLink } from '../link.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';

const columns = ['operator_id', 'name', 'role', 'created_at'];

/** `naru operator add|list|role|remove|token`. */
export function addOperatorCommands(program: Command, cli: CliContext): void {
  const operators = program
    .command('operator')
    .description('manage the people who use the operator console')
    .helpCommand(false);

  withCommonOptions(operators.command('add'))
    .description('add an operator and print a one-time link to the console, valid for 24 hours')
    .requiredOption('--name <name>', 'name of the operator, for the audit log', operatorName)
    .addOption(
      roleOption(
        'rights: viewer reads; support also grants credit up to a daily limit and suspends keys; admin does everything',
      ).default('viewer'),
    )
    .action((flags: CommonOptions & { name: string; role: OperatorRole }) =>
      withOperatorService(cli, flags, async ({ identity, actor }, output) => {
        const operator = assertDone(await identity.operators.add(flags, actor), flags.name);
        const link = await identity.links.openConsole(operator, actor);
        await printLink(cli, flags, output, link, rowOf(operator));
      }),
    );

  withCommonOptions(operators.command('list'))
    .description('list all operators')
    .action((flags: CommonOptions) =>
      withOperatorService(cli, flags, async ({ identity }, output) =>
        output.rows(columns, (await identity.operators.list()).map(rowOf)),
      ),
    );

  withCommonOptions(operators.command('role'))
    .description('change the role of an operator, effective at once')
    .argument('<name>', 'name of the operator', operatorName)
    .addOption(roleOption('the new role').makeOptionMandatory())
    .option('--reason <text>', 'reason, for the audit log', visibleText)
    .action((name: string, flags: CommonOptions & { role: OperatorRole; reason?: string }) =>
      withOperatorService(cli, flags, async ({ identity, actor }, output) => {
        const outcome = await identity.operators.setRole(name, flags.role, flags.reason ?? null, actor);
        const operator = assertDone(outcome, name);
        await output.one(`${operator.name} is ${operator.role}`, rowOf(operator));
      }),
    );

  withCommonOptions(operators.command('remove'))
    .description('remove an operator and end its sessions at once')
    .argument('<name>', 'name of the operator', operatorName)
    .option('--reason <text>', 'reason, for the audit log', visibleText)
    .action((name: string, flags: CommonOptions & { reason?: string }) =>
      withOperatorService(cli, flags, async ({ identity, actor }, output) => {
        const operator = assertDone(await identity.operators.remove(name, flags.reason ?? null, actor), name);
        await output.one(`${operator.name} is removed`, rowOf(operator));
      }),
    );

  addTokenCommands(operators, cli);
}

/** `naru operator token create|list|revoke`. */
function addTokenCommands(operators: Command, cli: CliContext): void {
  const tokens = operators
    .command('token')
    .description('manage the tokens of machines that call the API of the console')
    .helpCommand(false);

  withCommonOptions(tokens.command('create'))
    .description('create a token for `Authorization: Bearer`; its plaintext is printed only once')
    .requiredOption('--name <name>', 'name of the machine, for the audit log', operatorName)
    .requiredOption(
      '--expires-at <instant>',
      'when the token expires, within 366 days, such as 2026-12-31T23:59:59+09:00',
      instant,
    )
    .addOption(roleOption('rights, as of an operator').default('viewer'))
    .action((flags: CommonOptions & { name: string; role: OperatorRole; expiresAt: number }) =>
      withOperatorService(cli, flags, async ({ identity, actor }, output) => {
        const token = await identity.tokens.create({ ...flags, expiresAtMs: flags.expiresAt }, actor);
        if (token === 'name_taken') throw nameTaken(flags.name);
        if (token === 'invalid_expiry')
          throw new OperatorError('--expires-at must be in the future, within 366 days');
        await output.one(token.plaintext, { ...tokenRowOf(token), token: token.plaintext });
      }),
    );

  withCommonOptions(tokens.command('list'))
    .description('list all tokens that were not revoked')
    .action((flags: CommonOptions) =>
      withOperatorService(cli, flags, async ({ identity }, output) =>
        output.rows([...columns, 'expires_at'], (await identity.tokens.list()).map(tokenRowOf)),
      ),
    );

  withCommonOptions(tokens.command('revoke'))
    .description('revoke a token, effective at once')
    .argument('<name>', 'name of the machine', operatorName)
    .option('--reason <text>', 'reason, for the audit log', visibleText)
    .action((name: string, flags: CommonOptions & { reason?: string }) =>
      withOperatorService(cli, flags, async ({ identity, actor }, output) => {
        const token = await identity.tokens.revoke(name, flags.reason ?? null, actor);
        if (token === null) throw new OperatorError(`no token ${name}; run naru operator token list`);
        await output.one(`the token ${token.name} is revoked`, tokenRowOf(token));
      }),
    );
}

function nameTaken(name: string): OperatorError {
  return new OperatorError(`an operator named ${name} already exists`);
}

function roleOption(description: string): Option {
  return new Option('--role <role>', description).choices(operatorRoles);
}

function assertDone(outcome: Operator | OperatorFault, name: string): Operator {
  switch (outcome) {
    case 'name_taken':
      throw nameTaken(name);
    case 'no_such_operator':
      throw new OperatorError(`no operator ${name}; run naru operator list`);
    case 'last_admin':
      throw new OperatorError(`${name} is the only admin: assign the role to another operator first`);
    default:
      return outcome;
  }
}

function rowOf(operator: Omit<Operator, 'oidcIssuer'>) {
  return {
    operator_id: operator.operatorId,
    name: operator.name,
    role: operator.role,
    created_at: isoOf(operator.createdAtMs),
  };
}

function tokenRowOf(token: OperatorToken) {
  return { ...rowOf(token), expires_at: isoOf(token.expiresAtMs) };
}
