import { ownProvider } from '../../catalogue/model.ts';
import type { CandidateConfig, Config } from '../../config/config.ts';
import type { SourceUsage } from '../../generations/analytics/usage-sql.ts';
import { decimalToScaled, divideHalfUp } from '../../money/krw.ts';
import { costOf } from '../../money/price.ts';

/** What upstreams charged for usage, as far as it is known. Micro-won. */
export interface Margin {
  readonly billed: bigint;
  /** The part of it from providers whose own price is not known. */
  readonly billedAtUnknownCost: bigint;
  /** What upstreams charge for the rest. */
  readonly upstreamCost: bigint;
  readonly broken: {
    readonly count: bigint;
    /** What upstreams charge for responses that broke off, which no account pays. */
    readonly upstreamCost: bigint;
    /** Those at providers whose own price is not known. */
    readonly countAtUnknownCost: bigint;
  };
}

const percentDecimals = 6;
const whole = 100n * 10n ** BigInt(percentDecimals);

/**
 * The margin of usage at the prices of a configuration. A price in dollars is that of the upstream,
 * to which `exchange.margin_percent` was added; own slots have no upstream; what an upstream
 * charges where the price is in won is not known.
 */
export function marginOf(usage: readonly SourceUsage[], config: Config): Margin {
  const candidates = candidatesOf(config);
  let [billed, billedAtUnknownCost, upstreamCost] = [0n, 0n, 0n];
  const broken = { count: 0n, upstreamCost: 0n, countAtUnknownCost: 0n };
  for (const row of usage) {
    const candidate = candidates.get(keyOf(row.model, row.provider));
    const upstream = row.provider === ownProvider.name ? free : upstreamPart(candidate);
    billed += row.cost;
    if (upstream === null) billedAtUnknownCost += row.cost;
    else upstreamCost += upstream(row.cost);
    if (!row.isBroken) continue;
    broken.count += row.requests;
    if (upstream === null) broken.countAtUnknownCost += row.requests;
    else if (candidate !== undefined) broken.upstreamCost += upstream(priceOf(candidate, row));
  }
  return { billed, billedAtUnknownCost, upstreamCost, broken };
}

/** The candidates by model and by the name of their provider; of several the first. */
function candidatesOf({ models, providers }: Config): ReadonlyMap<string, CandidateConfig> {
  const names = new Map(providers.map(({ slug, name }) => [slug, name]));
  const found = new Map<string, CandidateConfig>();
  for (const { id, candidates } of models)
    for (const candidate of candidates) {
      const { target } = candidate;
      const name = target.kind === 'slot' ? ownProvider.name : (names.get(target.provider) ?? '');
      const key = keyOf(id, name);
      if (!found.has(key)) found.set(key, candidate);
    }
  return found;
}

function keyOf(model: string, provider: string): string {
  return `${model}\n${provider}`;
}

/** What an upstream charges for what we charge this amount for. */
type UpstreamPart = (amount: bigint) => bigint;
const free: UpstreamPart = () => 0n;

/** Null when it is not known. */
function upstreamPart(candidate: CandidateConfig | undefined): UpstreamPart | null {
  const percent = candidate?.stated.marginPercent ?? null;
  const margin = percent === null ? null : decimalToScaled(percent, percentDecimals);
  return margin === null ? null : (amount) => divideHalfUp(amount * whole, whole + margin);
}

/** What responses would have cost at our price. */
function priceOf({ price }: CandidateConfig, usage: SourceUsage): bigint {
  const { request, ...perToken } = price;
  const tokens = costOf(
    { ...perToken, request: 0n as typeof request },
    {
      promptTokens: Number(usage.promptTokens),
      completionTokens: Number(usage.completionTokens),
      cacheReadTokens: Number(usage.cachedTokens),
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
    },
  );
  return tokens + divideHalfUp(request * usage.requests, 1_000_000n);
}
