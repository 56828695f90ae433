import type { Command } from 'commander';
import { OperatorError } from '../../errors/operator-error.ts';
import { krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import { rateOfPico, rateToDecimal } from '../../money/price.ts';
import type { costCalculation } from '../../operations/cost-calculation.ts';
import { isoDay, seoulDayAt } from '../../time/period.ts';
import type { GenerationUuid } from '../../wire/ids/generation-id.ts';
import { requestUuid, seoulMonth } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';
import type { Row } from '../output.ts';

/** The route in a generation record. */
interface Shown {
  readonly provider_responses: readonly {
    readonly endpoint_id: string;
    readonly model_permaslug: string;
    readonly status: number | null;
    readonly latency: number;
    readonly failure?: string;
    readonly message?: string;
    readonly parameter_changes?: readonly {
      readonly parameter: string;
      readonly change: string;
      readonly to?: string;
    }[];
  }[];
  readonly routing: {
    readonly by: string;
    readonly chain: readonly { readonly endpoint_id: string }[];
    readonly held_back: readonly { readonly endpoint_id: string; readonly reason: string }[];
    readonly dropped: readonly { readonly endpoint_id: string; readonly reason: string }[];
  } | null;
  readonly price: ReturnType<typeof costCalculation> | null;
  readonly refunded_krw: string;
}

const shown = [
  'id',
  'created_at',
  'account_id',
  'request_id',
  'model',
  'provider_name',
  'status',
  'error_type',
  'cancelled',
  'finish_reason',
  'tokens_prompt',
  'tokens_completion',
  'cost_krw',
  'usage_source',
  'latency',
  'generation_time',
  'session_id',
];

/** `naru generation show`: one record with its attempts, their order and the calculation of its cost. */
export function addGenerationShow(generation: Command, cli: CliContext): void {
  withCommonOptions(generation.command('show'))
    .description(
      'show one record with its attempts, the reason for their order and the calculation of its cost',
    )
    .argument('<id>', 'gen-… or req_…', requestUuid)
    .action((uuid: GenerationUuid, flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const record = await operator.readGeneration(uuid);
        if (record === null) throw new OperatorError('no such generation or request');
        await output.one(linesOf(record as Shown & Row), record);
      }),
    );
}

/** `naru generation prune`: deletes old records; their cost stays in the ledger. */
export function addGenerationPrune(generation: Command, cli: CliContext): void {
  withCommonOptions(generation.command('prune'))
    .description(
      'delete the records of old months; monthly sums stay, so that the ledger can still be verified',
    )
    .requiredOption('--before <month>', 'the first month to keep (Seoul time), such as 2026-01', seoulMonth)
    .option('--dry-run', 'only show what would be deleted')
    .action((flags: CommonOptions & { readonly before: number; readonly dryRun?: boolean }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const outcome = await operator.pruneGenerations({
          beforeMs: flags.before,
          dryRun: flags.dryRun ?? false,
        });
        if (outcome.kind === 'too_recent')
          throw new OperatorError(
            `the current and the previous month cannot be deleted: --before may be ${monthOf(outcome.latestMs)} at the latest`,
          );
        if (outcome.kind === 'books_differ')
          throw new OperatorError('nothing was deleted: the ledger is inconsistent; run naru ledger verify');
        const rows = outcome.months.map(({ month, records, costMicro }) => ({
          month,
          records,
          cost_krw: krwToDecimal(krwOfMicro(costMicro)),
        }));
        await output.rows(['month', 'records', 'cost_krw'], rows, 'no records before that month');
      }),
    );
}

function monthOf(epochMs: number): string {
  return isoDay(seoulDayAt(epochMs)).slice(0, 7);
}

function linesOf(record: Shown & Row): readonly (readonly unknown[])[] {
  const { provider_responses: attempts, routing } = record;
  const facts = shown
    .filter((name) => record[name] !== null && record[name] !== undefined)
    .map((name) => [name, record[name]]);
  const tried = attempts.map(
    (
      { endpoint_id, model_permaslug, status, latency, failure, message: said, parameter_changes: changes },
      at,
    ) =>
      `  ${at + 1}. ${endpoint_id} (${model_permaslug}): ${failure ?? 'responded'}${status === null ? '' : `, ${status}`}, ${latency} ms${said === undefined ? '' : `; said "${said}"`}${changesText(changes)}`,
  );
  const why =
    routing === null
      ? ['  configuration order']
      : [
          `  by ${routing.by}: ${routing.chain.map(({ endpoint_id }) => endpoint_id).join(', ') || 'none'}`,
          ...routing.held_back.map(
            ({ endpoint_id, reason }) => `  demoted: ${endpoint_id}: ${message(reason)}`,
          ),
          ...routing.dropped.map(
            ({ endpoint_id, reason }) => `  rejected: ${endpoint_id}: ${message(reason)}`,
          ),
        ];
  const rest = ['attempts', ...(tried.length === 0 ? ['  none'] : tried), 'order', ...why];
  return [...facts, ...[...rest, 'cost', ...costText(record)].map((line) => [line])];
}

/** The lines whose exact sum is rounded once. */
function costText({ price, refunded_krw: refunded, ...record }: Shown & Row): readonly string[] {
  if (price === null) return ['  no price: nothing was billed'];
  const won = (pico: string): string => rateToDecimal(rateOfPico(BigInt(pico)));
  const tier = price.tier === null ? '' : `, tier ${price.tier}`;
  return [
    ...price.lines.map(
      ({ item, units, rate_pico, amount_pico }) =>
        `  ${item}: ${units} × ${won(rate_pico)} = ${won(amount_pico)} won`,
    ),
    `  sum ${won(price.sum_pico)} won${price.is_free ? ', not billed' : ''}; billed ${record['cost_krw']} won`,
    `  price version ${price.version}${tier}, published at ${price.published_at}; refunded ${refunded} won`,
  ];
}

function changesText(changes: Shown['provider_responses'][number]['parameter_changes']): string {
  const seen = (changes ?? []).map(
    ({ parameter, change, to }) => `${parameter} ${change}${to === undefined ? '' : ` to ${to}`}`,
  );
  return seen.length === 0 ? '' : `; parameters: ${seen.join(', ')}`;
}

function message(reason: string): string {
  return reason.replaceAll('_', ' ');
}
