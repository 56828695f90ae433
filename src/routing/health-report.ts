import type { Catalogue } from '../catalogue/catalogue.ts';
import type { DrainView } from '../catalogue/model.ts';
import type { CircuitState } from '../upstreams/circuit.ts';
import { type HealthView, halfAnHourMs } from '../upstreams/health-status.ts';

/**
 * The health of one candidate, for people and for the metrics page; null without data from the last
 * half hour.
 */
export interface CandidateReport {
  readonly candidate: string;
  /** The models for which it takes no new requests, because an operator drained it. */
  readonly drained_for: string[];
  readonly circuit: CircuitState;
  readonly failures_in_a_row: number;
  readonly probe_in_s: number | null;
  readonly cool_down_s: number | null;
  readonly attempts_30m: number;
  readonly uptime_30m: number | null;
  readonly latency_p50_ms: number | null;
  readonly latency_p90_ms: number | null;
  readonly latency_p99_ms: number | null;
  readonly throughput_p50: number | null;
}

/** Every candidate of the catalogue by its label, in its order. */
export function labelsOf({ models }: Catalogue): ReadonlySet<string> {
  return new Set(models.flatMap(({ candidates }) => candidates.map(({ label }) => label)));
}

/** The models for which each candidate is drained, by its label; none for most. */
export function drainedModels({ models }: Catalogue, drains: DrainView): ReadonlyMap<string, string[]> {
  const byLabel = new Map<string, string[]>();
  for (const { candidates } of models)
    for (const candidate of candidates) {
      if (!drains.isDrained(candidate)) continue;
      const drained = byLabel.get(candidate.label) ?? [];
      drained.push(candidate.modelId);
      byLabel.set(candidate.label, drained);
    }
  return byLabel;
}

/** What the health of candidates is reported from. */
export interface HealthSources {
  readonly catalogue: Catalogue;
  readonly health: HealthView;
  readonly drains: DrainView;
}

/**
 * One line for each candidate of the catalogue, in its order; of those alone that `isShown` returns
 * true for.
 */
export function reportHealth(
  { catalogue, health, drains }: HealthSources,
  isShown: (label: string, isDrained: boolean) => boolean = () => true,
): readonly CandidateReport[] {
  const drained = drainedModels(catalogue, drains);
  const shown = [...labelsOf(catalogue)].filter((label) => isShown(label, drained.has(label)));
  return shown.map((candidate) => {
    const { circuit, failures, probeInMs, coolingMs } = health.statusOf(candidate);
    const seen = health.of(candidate);
    const latency = seen.latency(halfAnHourMs);
    return {
      candidate,
      drained_for: drained.get(candidate) ?? [],
      circuit,
      failures_in_a_row: failures,
      probe_in_s: circuit === 'open' ? Math.ceil(probeInMs / 1000) : null,
      cool_down_s: coolingMs > 0 ? Math.ceil(coolingMs / 1000) : null,
      attempts_30m: seen.attempts(halfAnHourMs),
      uptime_30m: seen.uptime(halfAnHourMs),
      latency_p50_ms: latency?.p50 ?? null,
      latency_p90_ms: latency?.p90 ?? null,
      latency_p99_ms: latency?.p99 ?? null,
      throughput_p50: seen.throughput(halfAnHourMs)?.p50 ?? null,
    };
  });
}
