import { type Command, InvalidArgumentError } from 'commander';
import { OperatorError } from '../../errors/operator-error.ts';
import type { SessionRow } from '../../identity/sessions-sql.ts';
import { isoOf } from '../../time/clock.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';

const columns = [
  'session_id',
  'operator',
  'account_id',
  'owner_id',
  'via',
  'address',
  'created_at',
  'last_seen_at',
  'user_agent',
];

/** `naru session list|revoke`. */
export function addSessionCommands(program: Command, cli: CliContext): void {
  const sessions = program
    .command('session')
    .description('list and end sessions of the dashboard and the console')
    .helpCommand(false);

  withCommonOptions(sessions.command('list'))
    .description('list the open sessions, the most recently used first')
    .action((flags: CommonOptions) =>
      withOperatorService(cli, flags, async ({ identity }, output) => {
        const rows = await identity.sessions.list({ kind: 'all' });
        await output.rows(columns, rows.map(rowOf));
      }),
    );

  withCommonOptions(sessions.command('revoke'))
    .description('end a session on every server at once')
    .argument('<id>', 'session id', sessionId)
    .action((id: string, flags: CommonOptions) =>
      withOperatorService(cli, flags, async ({ identity, actor }, output) => {
        if (!(await identity.sessions.revoke(id, { kind: 'all' }, actor)))
          throw new OperatorError(`no session ${id}; run naru session list`);
        await output.one(`session ${id} is revoked`, { session_id: id, revoked: true });
      }),
    );
}

function sessionId(text: string): string {
  if (/^\d{1,18}$/.test(text)) return text;
  throw new InvalidArgumentError('must be a session id, a whole number.');
}

function rowOf(row: SessionRow) {
  return {
    session_id: row.sessionId,
    account_id: row.accountId,
    owner_id: row.ownerId,
    operator: row.operator?.name ?? null,
    via: row.via,
    address: row.address,
    user_agent: row.userAgent,
    created_at: isoOf(row.createdAtMs),
    last_seen_at: isoOf(row.lastSeenAtMs),
    expires_at: isoOf(row.expiresAtMs),
  };
}
