import { type Command, InvalidArgumentError } from 'commander';
import { type GenerationUuid, parseGenerationId } from '../../ids/generation-id.ts';
import { type CommonOptions, inOffice, withCommonOptions } from '../options.ts';
import { CliError, type Shell } from '../shell.ts';

/** What the record of a generation shows of its route. */
interface Shown {
  readonly provider_responses: readonly {
    readonly endpoint_id: string;
    readonly model_permaslug: string;
    readonly status: number | null;
    readonly latency: number;
    readonly failure?: string;
  }[];
  readonly routing: {
    readonly by: string;
    readonly chain: readonly { readonly endpoint_id: string }[];
    readonly held_back: readonly { readonly endpoint_id: string; readonly reason: string }[];
    readonly dropped: readonly { readonly endpoint_id: string; readonly reason: string }[];
  } | null;
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

/** `naru generation show`: one record, with its attempts and why they were made in that order. */
export function addGenerationShow(generation: Command, shell: Shell): void {
  withCommonOptions(generation.command('show'))
    .description('one record: what was tried in which order, and why')
    .argument('<id>', 'gen-…', generationId)
    .action((uuid: GenerationUuid, flags: CommonOptions) =>
      inOffice(shell, flags, async (office, output) => {
        const record = await office.readGeneration(uuid);
        if (record === null) throw new CliError('there is no such generation');
        await output.one(textOf(record as Shown & Readonly<Record<string, unknown>>), record);
      }),
    );
}

function textOf(record: Shown & Readonly<Record<string, unknown>>): string {
  const { provider_responses: attempts, routing } = record;
  const facts = shown
    .filter((name) => record[name] !== null && record[name] !== undefined)
    .map((name) => `${name.padEnd(18)}${String(record[name])}`);
  const tried = attempts.map(
    ({ endpoint_id, model_permaslug, status, latency, failure }, at) =>
      `  ${at + 1}. ${endpoint_id} (${model_permaslug}): ${failure ?? 'answered'}${status === null ? '' : `, ${status}`}, ${latency} ms`,
  );
  const why =
    routing === null
      ? ['  the order of the configuration']
      : [
          `  by ${routing.by}: ${routing.chain.map(({ endpoint_id }) => endpoint_id).join(', ') || 'nobody'}`,
          ...routing.held_back.map(
            ({ endpoint_id, reason }) => `  held back: ${endpoint_id}: ${words(reason)}`,
          ),
          ...routing.dropped.map(({ endpoint_id, reason }) => `  dropped: ${endpoint_id}: ${words(reason)}`),
        ];
  return [...facts, 'attempts', ...(tried.length === 0 ? ['  none'] : tried), 'order', ...why].join('\n');
}

function words(reason: string): string {
  return reason.replaceAll('_', ' ');
}

function generationId(text: string): GenerationUuid {
  const uuid = parseGenerationId(text);
  if (uuid === null) throw new InvalidArgumentError('must be the id of a generation, gen-…');
  return uuid;
}
