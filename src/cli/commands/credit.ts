import { type Command, Option } from 'commander';
import { OperatorError } from '../../errors/operator-error.ts';
import type { GenerationUuid } from '../../ids/generation-id.ts';
import type { CorrectionOutcome } from '../../ledger/corrections.ts';
import { type Krw, krwToDecimal } from '../../money/krw.ts';
import {
  accountId,
  generationUuid,
  instant,
  isPast,
  name,
  positiveKrw,
  signedKrw,
  words,
} from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';
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
  const credit = program.command('credit').description('prepaid credit').helpCommand(false);
  withCommonOptions(credit.command('grant'))
    .description('add credit to an account; a running server knows it within a second')
    .requiredOption('--account <id>', 'the account', accountId)
    .requiredOption('--amount <won>', 'how much', positiveKrw)
    .addOption(new Option('--kind <kind>', 'what it is').choices(['topup', 'bonus']).default('topup'))
    .option('--expires-at <instant>', 'when what is left of it is lost', instant)
    .option('--idempotency-key <key>', 'granting twice with one key grants once', name)
    .option('--memo <text>', 'a note for the ledger')
    .action((flags: GrantFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { account, amount, kind } = flags;
        const outcome = await operator.grantCredit({
          accountId: account,
          amount,
          kind,
          expiresAtMs: flags.expiresAt ?? null,
          idempotencyKey: flags.idempotencyKey ?? null,
          memo: flags.memo ?? null,
        });
        if (!('entryId' in outcome)) {
          const used = `the idempotency key ${flags.idempotencyKey} was used for another amount or kind`;
          throw new OperatorError(outcome.kind === 'conflict' ? used : `there is no account ${account}`);
        }
        if (isPast(flags.expiresAt))
          cli.err('naru: --expires-at is in the past: the credit is lost at once\n');
        const repeated = outcome.kind === 'repeated';
        const won = krwToDecimal(amount);
        const text = repeated
          ? `granted before as entry ${outcome.entryId}`
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

  withCommonOptions(credit.command('refund'))
    .description('give back what a generation cost; its own entry stays as it is')
    .requiredOption('--generation <id>', 'the generation', generationUuid)
    .option('--amount <won>', 'how much (default: what is left of its cost)', positiveKrw)
    .requiredOption('--reason <text>', 'why, for the ledger', words)
    .option('--idempotency-key <key>', 'refunding twice with one key refunds once', name)
    .action((flags: RefundFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { generation, reason } = flags;
        const outcome = await operator.refundGeneration({
          generation,
          amount: flags.amount ?? null,
          reason,
          idempotencyKey: flags.idempotencyKey ?? null,
        });
        await report(output, outcome, flags, 'refunded', 'there is no billed generation with this id');
      }),
    );

  withCommonOptions(credit.command('adjust'))
    .description("change an account's credit by your own judgement")
    .requiredOption('--account <id>', 'the account', accountId)
    .requiredOption('--amount <won>', 'how much; below zero deducts', signedKrw)
    .requiredOption('--reason <text>', 'why, for the ledger', words)
    .option('--idempotency-key <key>', 'adjusting twice with one key adjusts once', name)
    .action((flags: AdjustFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const { account, amount, reason } = flags;
        const outcome = await operator.adjustCredit({
          accountId: account,
          amount,
          reason,
          idempotencyKey: flags.idempotencyKey ?? null,
        });
        await report(output, outcome, flags, 'adjusted by', `there is no account ${account}`);
      }),
    );
}

/** Says what became of a correction; throws what the operator can mend. */
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
      throw new OperatorError(`the idempotency key ${idempotencyKey} was used for something else`);
    case 'too_much':
      throw new OperatorError(`only ${krwToDecimal(outcome.left)} won of its cost are left to refund`);
    case 'done':
    case 'repeated': {
      const won = krwToDecimal(outcome.amount);
      const repeated = outcome.kind === 'repeated';
      const text = repeated
        ? `done before as entry ${outcome.entryId}`
        : `${verb} ${won} won as entry ${outcome.entryId}`;
      await output.one(text, { entry_id: outcome.entryId, amount_krw: won, repeated });
    }
  }
}
