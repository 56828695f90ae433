import { type Command, Option } from 'commander';
import { type Krw, krwToDecimal } from '../../money/krw.ts';
import { accountId, instant, positiveKrw } from '../arguments.ts';
import { type CommonOptions, inOffice, withCommonOptions } from '../options.ts';
import { CliError, type Shell } from '../shell.ts';

interface GrantFlags extends CommonOptions {
  readonly account: number;
  readonly amount: Krw;
  readonly kind: 'topup' | 'bonus';
  readonly expiresAt?: number;
  readonly idempotencyKey?: string;
  readonly memo?: string;
}

/** `naru credit grant`. */
export function addCreditCommands(program: Command, shell: Shell): void {
  const credit = program.command('credit').description('prepaid credit').helpCommand(false);
  withCommonOptions(credit.command('grant'))
    .description('add credit to an account; a running server knows it within a second')
    .requiredOption('--account <id>', 'the account', accountId)
    .requiredOption('--amount <won>', 'how much', positiveKrw)
    .addOption(new Option('--kind <kind>', 'what it is').choices(['topup', 'bonus']).default('topup'))
    .option('--expires-at <instant>', 'when what is left of it is lost', instant)
    .option('--idempotency-key <key>', 'granting twice with one key grants once')
    .option('--memo <text>', 'a note for the ledger')
    .action((flags: GrantFlags) =>
      inOffice(shell, flags, async (office, output) => {
        const { account, amount, kind } = flags;
        const outcome = await office.grantCredit({
          accountId: account,
          amount,
          kind,
          expiresAtMs: flags.expiresAt ?? null,
          idempotencyKey: flags.idempotencyKey ?? null,
          memo: flags.memo ?? null,
        });
        if (!('entryId' in outcome)) {
          const used = `the idempotency key ${flags.idempotencyKey} was used for another amount or kind`;
          throw new CliError(outcome.kind === 'conflict' ? used : `there is no account ${account}`);
        }
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
}
