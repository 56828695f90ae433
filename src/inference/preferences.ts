import type { Candidate } from '../catalogue/model.ts';
import { refuse } from '../errors/catalogue.ts';
import type { Preferences, Sort } from '../wire/preferences.ts';

/** What was measured of a candidate lately, as far as sorting needs it; null when it had no traffic. */
export interface Measured {
  /** Tokens per second, median. */
  readonly throughput: number | null;
  /** Milliseconds to the first word, median. */
  readonly latency: number | null;
}

const sorts: readonly Sort[] = ['price', 'throughput', 'latency'];

/** Reads the `provider` object; refuses with `400 invalid_request` what is malformed. Unknown members are ignored. */
export function readPreferences(provider: Readonly<Record<string, unknown>>): Preferences {
  return {
    order: namesOf(provider, 'order'),
    only: namesOf(provider, 'only'),
    ignore: namesOf(provider, 'ignore') ?? [],
    allowFallbacks: flagOf(provider, 'allow_fallbacks') ?? true,
    requireParameters: flagOf(provider, 'require_parameters') ?? false,
    sort: sortOf(provider['sort']),
    quantizations: namesOf(provider, 'quantizations'),
    denyDataCollection: ['deny', 'disallow'].includes(String(provider['data_collection'] ?? 'allow')),
    zdr: flagOf(provider, 'zdr') ?? false,
  };
}

/** Whether a candidate is one that the request wants; the order is no matter of this. */
export function isWanted(candidate: Candidate, wanted: Preferences, sent: readonly string[]): boolean {
  const { only, ignore, quantizations, requireParameters } = wanted;
  if (only !== null && !only.some((name) => isAt(candidate, name))) return false;
  if (ignore.some((name) => isAt(candidate, name))) return false;
  if (quantizations !== null && !quantizations.includes(candidate.quantization ?? 'unknown')) return false;
  if (wanted.denyDataCollection && candidate.dataCollection) return false;
  if (wanted.zdr && !candidate.zdr) return false;
  const known = candidate.supportedParameters;
  return !requireParameters || known === null || sent.every((name) => known.has(name));
}

/** The candidates of one model in the order in which they are to be tried; those that are not to be tried at all are left out. */
export function inOrder(
  candidates: readonly Candidate[],
  wanted: Preferences,
  measured: (candidate: Candidate) => Measured,
): readonly Candidate[] {
  const { order, sort, allowFallbacks } = wanted;
  const sorted = sort === null ? candidates : [...candidates].sort((a, b) => compare(sort, a, b, measured));
  if (order === null) return allowFallbacks ? sorted : sorted.slice(0, 1);
  const first = order.flatMap((name) => sorted.filter((candidate) => isAt(candidate, name)));
  const rest = sorted.filter((candidate) => !first.includes(candidate));
  return [...new Set(allowFallbacks ? [...first, ...rest] : first)];
}

/** Best first; what was never measured comes after what was. */
function compare(
  sort: Sort,
  a: Candidate,
  b: Candidate,
  measured: (candidate: Candidate) => Measured,
): number {
  switch (sort) {
    case 'price': {
      const difference = a.price.prompt + a.price.completion - (b.price.prompt + b.price.completion);
      return difference < 0n ? -1 : difference > 0n ? 1 : 0;
    }
    case 'throughput':
      return (measured(b).throughput ?? -1) - (measured(a).throughput ?? -1);
    case 'latency':
      return finite(measured(a).latency) - finite(measured(b).latency);
  }
}

function finite(latencyMs: number | null): number {
  return latencyMs ?? Number.MAX_SAFE_INTEGER;
}

/** A candidate is named by its provider's slug or slot, whatever its case, or by its whole label. */
function isAt({ providerTag, providerName, label }: Candidate, name: string): boolean {
  const asked = name.toLowerCase();
  return [providerTag, providerName, label].some((own) => own.toLowerCase() === asked);
}

function namesOf(provider: Readonly<Record<string, unknown>>, member: string): readonly string[] | null {
  const value = provider[member] ?? null;
  if (value === null) return null;
  if (!Array.isArray(value) || value.some((name) => typeof name !== 'string')) {
    throw refuse('invalid_request', `\`provider.${member}\` must be an array of strings.`);
  }
  return value as readonly string[];
}

function flagOf(provider: Readonly<Record<string, unknown>>, member: string): boolean | null {
  const value = provider[member] ?? null;
  if (value !== null && typeof value !== 'boolean') {
    throw refuse('invalid_request', `\`provider.${member}\` must be a boolean.`);
  }
  return value;
}

/** `"throughput"` or `{ by: "throughput" }`; a sort that is not known here leaves the order as it is. */
function sortOf(value: unknown): Sort | null {
  const by = typeof value === 'object' && value !== null ? (value as { by?: unknown }).by : value;
  if (by != null && typeof by !== 'string')
    throw refuse('invalid_request', '`provider.sort` must be a string.');
  return sorts.find((sort) => sort === by) ?? null;
}
