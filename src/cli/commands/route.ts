import { type Command, InvalidArgumentError } from 'commander';
import type { KeyRow } from '../../accounts/keys-sql.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { explanationText, type RouteQuestion } from '../../inference/explain-route.ts';
import type { CandidateReport } from '../../routing/health-report.ts';
import { accountId, keyHash } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, findKey, withCommonOptions, withOperatorService } from '../options.ts';
import { Output } from '../output.ts';
import { addDrainCommands } from './route-drains.ts';

interface ExplainFlags extends CommonOptions {
  readonly model?: string;
  readonly models?: readonly string[];
  readonly provider?: object;
  readonly order?: readonly string[];
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  readonly sort?: string;
  readonly key?: string;
  readonly account?: number;
  readonly promptTokens: number;
  readonly maxTokens?: number;
  readonly image?: boolean;
  readonly tools?: boolean;
  readonly session?: string;
}

const healthColumns: readonly (keyof CandidateReport)[] = [
  'candidate',
  'drained_for',
  'circuit',
  'failures_in_a_row',
  'probe_in_s',
  'cool_down_s',
  'attempts_30m',
  'uptime_30m',
  'latency_p50_ms',
  'latency_p90_ms',
  'throughput_p50',
];

/** `naru route explain|health|drain|resume|drained`. */
export function addRouteCommands(program: Command, cli: CliContext): void {
  const route = program
    .command('route')
    .description('explain routing, show the health of candidates, drain candidates')
    .helpCommand(false);
  addDrainCommands(route, cli);

  withCommonOptions(route.command('explain'))
    .description('show which candidates a request would use now, in order, and why')
    .option('--model <id>', 'requested model')
    .option('--models <ids>', 'requested models in order, comma-separated', names)
    .option('--provider <json>', 'the `provider` object of the request', jsonObject)
    .option('--order <names>', 'provider.order, comma-separated', names)
    .option('--only <names>', 'provider.only, comma-separated', names)
    .option('--ignore <names>', 'provider.ignore, comma-separated', names)
    .option('--sort <by>', 'provider.sort: price, throughput or latency')
    .option('--prompt-tokens <n>', 'prompt length in tokens', wholeNumber, 0)
    .option('--max-tokens <n>', 'max_tokens of the request', wholeNumber)
    .option('--image', 'the prompt has an image')
    .option('--tools', 'the request has tools')
    .option('--session <id>', 'the session_id of the request')
    .option('--account <id>', 'account of the session', accountId)
    .option('--key <hash>', 'key that sends it: its account and its restrictions', keyHash)
    .action(async (flags: ExplainFlags) => {
      const { explainServerRoute } = await import('../../admin/route-explain.ts');
      const question = await questionFrom(cli, flags);
      const { knowledge, explanation, worker } = await explainServerRoute(cliPaths(flags), question, cli);
      const hint =
        worker === null ? '' : `\nas worker ${worker} would decide; each worker measures health on its own`;
      await new Output(cli, flags.json === true).one(`${explanationText(explanation, knowledge)}${hint}`, {
        ...explanation,
        health: knowledge,
        ...(worker === null ? {} : { worker }),
      });
    });

  withCommonOptions(route.command('health'))
    .description('show the health of the candidates of the running server')
    .action(async (flags: CommonOptions) => {
      const { readRouteHealth } = await import('../../admin/route-explain.ts');
      const rows = await readRouteHealth(cliPaths(flags), cli);
      if (rows === null)
        throw new OperatorError('no running server found; health data exists only while a server is running');
      await new Output(cli, flags.json === true).rows(
        rows.some((row) => 'worker' in row) ? ['worker', ...healthColumns] : healthColumns,
        rows,
      );
    });
}

async function questionFrom(cli: CliContext, flags: ExplainFlags): Promise<RouteQuestion> {
  const models = [...(flags.model === undefined ? [] : [flags.model]), ...(flags.models ?? [])];
  if (models.length === 0) throw new OperatorError('pass --model or --models');
  const { order, only, ignore, sort } = flags;
  const key = await keyOf(cli, flags);
  const provider = {
    ...flags.provider,
    ...(order === undefined ? {} : { order }),
    ...(only === undefined ? {} : { only }),
    ...(ignore === undefined ? {} : { ignore }),
    ...(sort === undefined ? {} : { sort }),
  };
  return {
    models,
    provider: Object.keys(provider).length === 0 ? null : JSON.stringify(provider),
    promptTokens: flags.promptTokens,
    maxTokens: flags.maxTokens ?? null,
    image: flags.image === true,
    tools: flags.tools === true,
    session: flags.session ?? null,
    accountId: flags.account ?? key?.accountId ?? 0,
    restrictions: key?.restrictions ?? null,
  };
}

/** The key of `--key`; null without that option. */
async function keyOf(cli: CliContext, flags: ExplainFlags): Promise<KeyRow | null> {
  const { key: hash } = flags;
  if (hash === undefined) return null;
  const found: KeyRow[] = [];
  await withOperatorService(cli, flags, async (operator) => {
    found.push(await findKey(operator, hash));
  });
  return found[0] ?? null;
}

function names(text: string): readonly string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function jsonObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError('must be a JSON object such as {"sort":"price"}.');
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('must be a whole number.');
  return Number(text);
}
