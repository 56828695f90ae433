import type { Command } from 'commander';
import type { Drain } from '../../catalogue/drains-sql.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { isoOf } from '../../time/clock.ts';
import { name, visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, withCommonOptions, withOperatorService } from '../options.ts';
import type { Row } from '../output.ts';

interface DrainFlags extends CommonOptions {
  readonly reason: string;
  readonly idempotencyKey?: string;
}

const columns = ['model', 'candidate', 'since', 'by', 'reason'];

/** `naru route drain|resume|drained`. */
export function addDrainCommands(route: Command, cli: CliContext): void {
  for (const [verb, description] of [
    ['drain', 'send a candidate no new requests; those in flight finish'],
    ['resume', 'send a drained candidate requests again'],
  ] as const)
    withCommonOptions(route.command(verb))
      .description(`${description}; running servers apply it within a second`)
      .argument('<model>', 'model id', visibleText)
      .argument('<candidate>', 'candidate, such as openai/gpt-4o-mini or slot/local', visibleText)
      .requiredOption('--reason <text>', 'reason, for the audit log', visibleText)
      .option('--idempotency-key <key>', `repeating a ${verb} with the same key has no effect`, name)
      .action((model: string, candidate: string, flags: DrainFlags) =>
        change(cli, flags, { model, candidate, drained: verb === 'drain' }),
      );

  withCommonOptions(route.command('drained'))
    .description('list the drained candidates, and why they are')
    .action((flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) =>
        output.rows(columns, (await operator.readDrains()).map(rowOf)),
      ),
    );
}

function change(
  cli: CliContext,
  flags: DrainFlags,
  wanted: { readonly model: string; readonly candidate: string; readonly drained: boolean },
): Promise<void> {
  const { model, candidate, drained } = wanted;
  return withOperatorService(cli, flags, async (operator, output) => {
    const idempotencyKey = flags.idempotencyKey ?? null;
    const { kind } = await operator.changeDrain({ ...wanted, reason: flags.reason, idempotencyKey });
    if (kind === 'unknown_candidate')
      throw new OperatorError(
        `${model} has no candidate ${candidate}; naru models list shows those that are published`,
      );
    if (kind === 'conflict')
      throw new OperatorError(`the idempotency key ${idempotencyKey} was already used for another change`);
    const state = drained ? 'drained' : 'not drained';
    const text = {
      done: `${candidate} of ${model} is ${state}`,
      unchanged: `${candidate} of ${model} is already ${state}`,
      repeated: `already done: the idempotency key ${idempotencyKey} was used before`,
    }[kind];
    await output.one(text, { model, candidate, drained, repeated: kind !== 'done' });
  });
}

function rowOf({ model, candidate, atMs, by, reason }: Drain): Row {
  return { model, candidate, since: isoOf(atMs), by, reason };
}
