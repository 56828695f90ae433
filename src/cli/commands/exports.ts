import type { Command } from 'commander';
import { counted } from '../../errors/counted.ts';
import type { EntryRow } from '../../ledger/ledger-sql.ts';
import type { Verdict } from '../../ledger/verification.ts';
import { krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import { isoOf } from '../../time/clock.ts';
import { type GenerationUuid, generationIdOf } from '../../wire/ids/generation-id.ts';
import { accountId, visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import {
  assertAccount,
  type CommonOptions,
  cliPaths,
  type ExportFlags,
  spanOf,
  withCommonOptions,
  withExportOptions,
  withOperatorService,
} from '../options.ts';
import type { Output, Row } from '../output.ts';
import { addGenerationPrune, addGenerationShow } from './generation.ts';
import { addQuarantineCommands } from './quarantine.ts';

type AccountFlags = ExportFlags & { readonly account?: number };

const entryColumns = ['id', 'account_id', 'kind', 'amount_krw', 'generation_id', 'created_at'];
const generationColumns = [
  'id',
  'account_id',
  'model',
  'provider_name',
  'status',
  'error_type',
  'tokens_prompt',
  'tokens_completion',
  'cost_krw',
  'created_at',
];

/** `naru ledger export|verify`, the quarantine, and `naru generation export|show|prune`. */
export function addExportCommands(program: Command, cli: CliContext, state: { exitCode: number }): void {
  const ledger = program.command('ledger').description('export and verify the ledger').helpCommand(false);

  withExportOptions(ledger.command('export'))
    .description('export every entry, one per line')
    .option('--account <id>', 'only this account', accountId)
    .action((flags: AccountFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        if (flags.account !== undefined) await assertAccount(operator, flags.account);
        await output.rows(
          entryColumns,
          entries(operator.exportEntries(flags.account ?? null, spanOf(flags))),
        );
      }),
    );

  withCommonOptions(ledger.command('verify'))
    .description('recompute every balance and period total; print differences and exit with code 1 if any')
    .option('--against <dir>', 'a backup; also check that the ledger continues the one in it', visibleText)
    .action(async (flags: CommonOptions & { readonly against?: string }) => {
      const { readAnchorsOf } = await import('../../admin/backup/restore.ts');
      const anchors =
        flags.against === undefined ? undefined : await readAnchorsOf(cliPaths(flags), flags.against, cli);
      await withOperatorService(cli, flags, async (operator, output) => {
        cli.progress?.('verifying the ledger');
        const verdict = await operator.verifyLedger(anchors);
        if (verdict.differences.length > 0) state.exitCode = 1;
        await report(verdict, output);
      });
    });

  addQuarantineCommands(ledger, cli, state);
  const generation = program
    .command('generation')
    .description('show, export and delete generation records')
    .helpCommand(false);
  addGenerationShow(generation, cli);
  addGenerationPrune(generation, cli);
  withExportOptions(generation.command('export'))
    .description('export every record, one per line')
    .option('--account <id>', 'only this account', accountId)
    .action((flags: AccountFlags) =>
      withOperatorService(cli, flags, async (operator, output) => {
        if (flags.account !== undefined) await assertAccount(operator, flags.account);
        const records = operator.exportGenerations(
          flags.account ?? null,
          spanOf(flags),
        ) as AsyncIterable<Row>;
        await output.rows(generationColumns, records);
      }),
    );
}

async function* entries(rows: AsyncIterable<EntryRow>): AsyncGenerator<Row> {
  for await (const row of rows) {
    yield {
      id: row.id,
      account_id: row.accountId,
      kind: row.kind,
      amount_krw: krwToDecimal(krwOfMicro(row.amountMicro)),
      generation_id:
        row.generationUuid === null ? null : generationIdOf(row.generationUuid as GenerationUuid),
      memo: row.memo,
      created_at: isoOf(row.createdAtMs),
    };
  }
}

async function report(verdict: Verdict, output: Output): Promise<void> {
  const { checks, differences, accounts, entries: count, generations } = verdict;
  const ok = differences.length === 0;
  const lines = differences.map(
    (row) => `${row.subject}: ${row.check}: expected ${row.expected}, found ${row.found}`,
  );
  const counts = [
    counted(accounts, 'account'),
    counted(count, 'entry', 'entries'),
    counted(generations, 'generation'),
    counted(checks.length, 'check'),
  ].join(', ');
  const summary = `${counts}: ${ok ? 'the ledger is consistent' : counted(differences.length, 'difference')}`;
  await output.one([...lines, summary].join('\n'), {
    ok,
    accounts,
    entries: count,
    generations,
    checks: checks.length,
    differences,
  });
}
