import type { Command } from 'commander';
import type { Drain } from '../../catalogue/drains-sql.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import type { OperatorService } from '../../operations/operator-service.ts';
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

/** What the command reports of the candidate: its state afterwards. */
const outcomes = {
  drain: {
    done: 'is drained: it gets no new requests, and those in flight finish',
    unchanged: 'was drained before: it gets no new requests',
  },
  resume: {
    done: 'takes requests again',
    unchanged: 'was not drained: it takes requests',
  },
} as const;

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
    .description('list the drained candidates with the reason of each')
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
    const text =
      kind === 'repeated'
        ? `already done: the idempotency key ${idempotencyKey} was used before; ${await stateNow(operator, wanted)}`
        : `${candidate} of ${model} ${outcomes[drained ? 'drain' : 'resume'][kind]}`;
    await output.one(text, { model, candidate, drained, repeated: kind !== 'done' });
  });
}

async function stateNow(
  operator: Pick<OperatorService, 'readDrains'>,
  { model, candidate }: { readonly model: string; readonly candidate: string },
): Promise<string> {
  const isDrained = (await operator.readDrains()).some(
    (drain) => drain.model === model && drain.candidate === candidate,
  );
  return `it ${isDrained ? 'is drained' : 'takes requests'} now`;
}

function rowOf({ model, candidate, atMs, by, reason }: Drain): Row {
  return { model, candidate, since: isoOf(atMs), by, reason };
}
