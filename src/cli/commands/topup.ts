import { type Command, Option } from 'commander';
import { OperatorError } from '../../errors/operator-error.ts';
import type { TopupOutcome } from '../../ledger/topup-requests.ts';
import { type TopupRequest, type TopupState, topupStates } from '../../ledger/topup-requests-sql.ts';
import { krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import { isoOf } from '../../time/clock.ts';
import { accountId, count, name, topupId, visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, once, withCommonOptions, withOperatorService } from '../options.ts';

const columns = ['id', 'account_id', 'amount_krw', 'state', 'depositor', 'requested_at', 'bank_reference'];

interface ListFlags extends CommonOptions {
  readonly lines: number;
  readonly account?: number;
  readonly state: TopupState | 'all';
}

/** `naru topup list|confirm|reject`. */
export function addTopupCommands(program: Command, cli: CliContext): void {
  const topups = program
    .command('topup')
    .description('list, confirm and reject top-up requests of account owners')
    .helpCommand(false);

  withCommonOptions(topups.command('list'))
    .description('list top-up requests, newest first')
    .option('-n, --lines <n>', 'at most <n> requests', count, 100)
    .option('--account <id>', 'only requests of this account', accountId)
    .addOption(
      new Option('--state <state>', 'only requests in this state')
        .choices([...topupStates, 'all'])
        .default('pending'),
    )
    .action((flags: ListFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const requests = await operator.readTopups({
          accountId: flags.account ?? null,
          state: flags.state === 'all' ? null : flags.state,
          beforeId: null,
          limit: flags.lines,
        });
        await output.rows(columns, requests.map(rowOf));
      }),
    );

  withCommonOptions(topups.command('confirm'))
    .description(
      'confirm a top-up request, which grants its credit once; running servers apply it within a second',
    )
    .argument('<id>', 'id of the top-up request', topupId)
    .option('--bank-reference <text>', 'the reference of the transfer; it confirms one request only', name)
    .action((id: number, flags: CommonOptions & { bankReference?: string }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const outcome = await once(
          () => operator.confirmTopup({ id, bankReference: flags.bankReference ?? null }),
          'as it is',
        );
        // The command line has no limit.
        if (outcome.kind === 'above_limit') throw new OperatorError('the amount is above the limit');
        const { request, repeated } = decided(outcome, id);
        const text = repeated
          ? `already confirmed as entry ${request.entryId}`
          : `granted ${krwToDecimal(krwOfMicro(request.amountMicro))} won as entry ${request.entryId}`;
        await output.one(text, { ...rowOf(request), repeated });
      }),
    );

  withCommonOptions(topups.command('reject'))
    .description('reject a top-up request; the owners of the account see the reason')
    .argument('<id>', 'id of the top-up request', topupId)
    .requiredOption('--reason <text>', 'reason, shown to the owner', visibleText)
    .action((id: number, flags: CommonOptions & { reason: string }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { request, repeated } = decided(await operator.rejectTopup({ id, reason: flags.reason }), id);
        await output.one(`request ${id} is rejected`, { ...rowOf(request), repeated });
      }),
    );
}

function decided(outcome: TopupOutcome, id: number) {
  switch (outcome.kind) {
    case 'done':
    case 'repeated':
      return { request: outcome.request, repeated: outcome.kind === 'repeated' };
    case 'decided':
      throw new OperatorError(
        `request ${id} is already ${outcome.request.state}${outcome.request.bankReference === null ? '' : `, with the bank reference ${outcome.request.bankReference}`}`,
      );
    case 'closed':
      throw new OperatorError('the account is closed; reject the request, or run naru account reopen');
    case 'reference_used':
      throw new OperatorError('this bank reference already confirmed another request');
    default:
      throw new OperatorError(`no top-up request ${id}`);
  }
}

function rowOf(request: TopupRequest) {
  return {
    id: request.id,
    account_id: request.accountId,
    amount_krw: krwToDecimal(krwOfMicro(request.amountMicro)),
    state: request.state,
    depositor: request.depositor,
    note: request.note,
    requested_at: isoOf(request.requestedAtMs),
    decided_at: request.decidedAtMs === null ? null : isoOf(request.decidedAtMs),
    decided_by: request.decidedBy,
    reason: request.reason,
    bank_reference: request.bankReference,
    entry_id: request.entryId,
  };
}
