import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import { OperatorError } from '../../errors/operator-error.ts';
import type { CorrectionOutcome } from '../../ledger/corrections.ts';
import { type Krw, krwToDecimal } from '../../money/krw.ts';
import type { GenerationUuid } from '../../wire/ids/generation-id.ts';
import {
  accountId,
  generationUuid,
  instant,
  isPast,
  name,
  positiveKrw,
  signedKrw,
  visibleText,
} from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, once, withCommonOptions, withOperatorService } from '../options.ts';
import type { Output } from '../output.ts';

interface GrantFlags extends CommonOptions {
  readonly account: number;
  readonly amount: Krw;
  readonly kind: 'topup' | 'bonus';
  readonly expiresAt?: number;
  readonly idempotencyKey?: string;
  readonly memo?: string;
}

interface RefundFlags extends CommonOptions {
  readonly generation: GenerationUuid;
  readonly amount?: Krw;
  readonly reason: string;
  readonly toKeyLimit?: boolean;
  readonly idempotencyKey?: string;
}

interface AdjustFlags extends CommonOptions {
  readonly account: number;
  readonly amount: Krw;
  readonly reason: string;
  readonly idempotencyKey?: string;
}

/** `naru credit grant|refund|adjust`. */
export function addCreditCommands(program: Command, cli: CliContext): void {
  const credit = program.command('credit').description('manage prepaid credit').helpCommand(false);
  addGrant(credit, cli);
  addRefund(credit, cli);
  addAdjust(credit, cli);
}

function addGrant(credit: Command, cli: CliContext): void {
  withCommonOptions(credit.command('grant'))
    .description('grant credit to an account; running servers apply it within a second')
    .requiredOption('--account <id>', 'account id', accountId)
    .requiredOption('--amount <won>', 'amount in won', positiveKrw)
    .addOption(new Option('--kind <kind>', 'kind of credit').choices(['topup', 'bonus']).default('topup'))
    .option(
      '--expires-at <instant>',
      'when the unused remainder expires, such as 2026-12-31T23:59:59+09:00',
      instant,
    )
    .option('--idempotency-key <key>', 'repeating a grant with the same key has no effect', name)
    .option('--memo <text>', 'a note for the ledger')
    .action((flags: GrantFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { account, amount, kind } = flags;
        const outcome = await keyed(flags, (idempotencyKey) =>
          operator.grantCredit({
            accountId: account,
            amount,
            kind,
            expiresAtMs: flags.expiresAt ?? null,
            idempotencyKey,
            memo: flags.memo ?? null,
          }),
        );
        if (!('entryId' in outcome)) {
          const used = `the idempotency key ${flags.idempotencyKey} was already used for another amount, kind, expiry or memo`;
          const faults = {
            conflict: used,
            closed: `account ${account} is closed`,
            no_account: `no account ${account}`,
            // The command line has no limit.
            above_limit: 'the amount is above the limit',
          };
          throw new OperatorError(faults[outcome.kind]);
        }
        if (isPast(flags.expiresAt))
          cli.err('naru: warning: --expires-at is in the past; the credit expires immediately\n');
        const repeated = outcome.kind === 'repeated';
        const won = krwToDecimal(amount);
        const text = repeated
          ? `already granted as entry ${outcome.entryId}`
          : `granted ${won} won as entry ${outcome.entryId}`;
        await output.one(text, {
          entry_id: outcome.entryId,
          account_id: account,
          kind,
          amount_krw: won,
          repeated,
        });
      }),
    );
}

function addRefund(credit: Command, cli: CliContext): void {
  withCommonOptions(credit.command('refund'))
    .description('refund the cost of a generation; its own ledger entry does not change')
    .requiredOption('--generation <id>', 'generation id', generationUuid)
    .option('--amount <won>', 'amount in won (default: the part of the cost not yet refunded)', positiveKrw)
    .requiredOption('--reason <text>', 'reason, recorded in the ledger', visibleText)
    .option(
      '--to-key-limit',
      'it no longer counts against the limit of the key, in the period of its generation',
    )
    .option('--idempotency-key <key>', 'repeating a refund with the same key has no effect', name)
    .action((flags: RefundFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { generation, amount = null, reason, toKeyLimit = false } = flags;
        const outcome = await keyed(flags, (idempotencyKey) =>
          operator.refundGeneration({ generation, amount, reason, toKeyLimit, idempotencyKey }),
        );
        await report(output, outcome, flags, 'refunded', 'no billed generation has this id');
      }),
    );
}

function addAdjust(credit: Command, cli: CliContext): void {
  withCommonOptions(credit.command('adjust'))
    .description('add or deduct credit manually')
    .requiredOption('--account <id>', 'account id', accountId)
    .requiredOption('--amount <won>', 'amount in won; negative deducts', signedKrw)
    .requiredOption('--reason <text>', 'reason, recorded in the ledger', visibleText)
    .option('--idempotency-key <key>', 'repeating an adjustment with the same key has no effect', name)
    .action((flags: AdjustFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { account, amount, reason } = flags;
        const outcome = await keyed(flags, (idempotencyKey) =>
          operator.adjustCredit({ accountId: account, amount, reason, idempotencyKey }),
        );
        await report(output, outcome, flags, 'adjusted by', `no account ${account}`);
      }),
    );
}

/** Makes an act on credit once, with a new idempotency key unless the command states one. */
function keyed<T>(
  { idempotencyKey = randomUUID() }: { readonly idempotencyKey?: string },
  act: (idempotencyKey: string) => Promise<T>,
): Promise<T> {
  return once(() => act(idempotencyKey), `with --idempotency-key ${idempotencyKey}`);
}

/** Prints the outcome of a correction; throws an `OperatorError` when it was rejected. */
async function report(
  output: Output,
  outcome: CorrectionOutcome,
  { idempotencyKey }: { readonly idempotencyKey?: string },
  verb: string,
  notFound: string,
): Promise<void> {
  switch (outcome.kind) {
    case 'not_found':
      throw new OperatorError(notFound);
    case 'conflict':
      throw new OperatorError(`the idempotency key ${idempotencyKey} was already used for another operation`);
    case 'too_much':
      throw new OperatorError(`at most ${krwToDecimal(outcome.left)} won of its cost can still be refunded`);
    case 'done':
    case 'repeated': {
      const won = krwToDecimal(outcome.amount);
      const repeated = outcome.kind === 'repeated';
      const text = repeated
        ? `already done as entry ${outcome.entryId}`
        : `${verb} ${won} won as entry ${outcome.entryId}`;
      await output.one(text, { entry_id: outcome.entryId, amount_krw: won, repeated });
    }
  }
}
