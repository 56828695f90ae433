import { type Command, Option } from 'commander';
import { operatorRoles } from '../../identity/audit.ts';
import type { AuditRow } from '../../identity/audit-sql.ts';
import { auditEntry } from '../../operations/audit-entry.ts';
import { accountId, count, fromDay, toDay, visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';

const columns = ['at', 'who', 'role', 'act', 'account_id', 'subject', 'reason', 'before', 'after'];

interface AuditFlags extends CommonOptions {
  readonly lines?: number;
  readonly account?: number;
  readonly act?: string;
  readonly role?: AuditRow['role'];
  readonly from?: number;
  readonly to?: number;
}

/** `naru audit`. */
export function addAuditCommand(program: Command, cli: CliContext): void {
  withCommonOptions(program.command('audit'))
    .description('list the actions of operators in the console and on the command line, newest first')
    .option('-n, --lines <n>', 'at most <n> actions (default: 100; all with --csv)', count)
    .option('--account <id>', 'only actions on this account', accountId)
    .option('--act <name>', 'only this action, such as credit.grant', visibleText)
    .addOption(new Option('--role <role>', 'only acts by this role').choices([...operatorRoles, 'cli']))
    .option('--from <day>', 'only actions from this day (Seoul time) or instant on', fromDay)
    .option('--to <day>', 'only actions to the end of this day (Seoul time), or before this instant', toDay)
    .addOption(new Option('--csv', 'print a CSV file').conflicts('json'))
    .action((flags: AuditFlags) =>
      withOperatorService(cli, flags, async ({ identity }, output) => {
        const { lines, account: accountId, act, role, from: fromMs, to: toMs } = flags;
        const limit = lines ?? (flags.csv === true ? 1_000_000 : 100);
        const acts = await identity.readActs({ limit, accountId, act, role, fromMs, toMs });
        await output.rows(columns, acts.map(auditEntry));
      }),
    );
}
