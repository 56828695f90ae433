import type { Catalogue } from '../catalogue/catalogue.ts';
import type { DrainView } from '../catalogue/model.ts';
import { BoundedLabels, otherLabel } from '../metrics/bounded-labels.ts';
import { addCounter, addGauge, type Reading, type Registry } from '../metrics/registry.ts';
import type { Health } from '../upstreams/health.ts';
import { halfAnHourMs } from '../upstreams/health-status.ts';
import { type CandidateReport, labelsOf, reportHealth } from './health-report.ts';

/** Each is some 10 lines of the page. */
export const maxCandidates = 300;

const circuits: Readonly<Record<CandidateReport['circuit'], number>> = {
  closed: 0,
  due: 1,
  probing: 1,
  open: 2,
};

/** What the metrics of the upstreams are read from. */
export interface UpstreamReadings {
  readonly catalogue: () => Catalogue;
  readonly health: Health;
  readonly drains: DrainView;
}

/** How the candidates do, for the metrics page. What was not measured has no line. */
export class UpstreamMetrics {
  readonly #own = new BoundedLabels(['candidate'], maxCandidates);
  readonly #readings: UpstreamReadings;
  #reports: readonly CandidateReport[] = [];

  constructor(registry: Registry, readings: UpstreamReadings) {
    this.#readings = readings;
    const gauge = (name: string, help: string, read: (report: CandidateReport) => number | null): void =>
      addGauge(registry, { name, help, labelNames: ['candidate'] }, () => this.#each(read));
    addGauge(
      registry,
      {
        name: 'naru_upstream_circuit',
        help: 'State of the circuit breaker: 0 closed, 1 probe due, 2 open.',
        labelNames: ['candidate'],
      },
      () => {
        // The first of these metrics: the others show the same moment.
        this.#reports = this.#shown();
        return this.#each(({ circuit }) => circuits[circuit]);
      },
    );
    gauge(
      'naru_upstream_drained',
      'Models for which an operator drained it.',
      (one) => one.drained_for.length,
    );
    gauge(
      'naru_upstream_failures_in_a_row',
      'Failures since the last response.',
      (one) => one.failures_in_a_row,
    );
    gauge(
      'naru_upstream_cool_down_seconds',
      'Remaining cool-down after a 429.',
      (one) => one.cool_down_s ?? 0,
    );
    gauge('naru_upstream_attempts', 'Completed attempts over 30 minutes.', (one) => one.attempts_30m);
    gauge(
      'naru_upstream_uptime_ratio',
      'Share of successful attempts over 30 minutes, from 0 to 1.',
      ({ uptime_30m: percent }) => (percent === null ? null : percent / 100),
    );
    addGauge(
      registry,
      {
        name: 'naru_upstream_latency_seconds',
        help: 'Time to the first content of a stream over 30 minutes.',
        labelNames: ['candidate', 'quantile'],
      },
      () => [
        ...this.#each(({ latency_p50_ms: ms }) => secondsOf(ms), { quantile: '0.5' }),
        ...this.#each(({ latency_p90_ms: ms }) => secondsOf(ms), { quantile: '0.9' }),
        ...this.#each(({ latency_p99_ms: ms }) => secondsOf(ms), { quantile: '0.99' }),
      ],
    );
    gauge(
      'naru_upstream_tokens_per_second',
      'Median completion tokens per second over 30 minutes.',
      (one) => one.throughput_p50,
    );
    this.#addCounters(registry);
  }

  #addCounters(registry: Registry): void {
    const { health } = this.#readings;
    addCounter(
      registry,
      {
        name: 'naru_upstream_resends_total',
        help: 'Requests that were resent on a new connection because the old one was stale.',
        labelNames: ['candidate'],
      },
      () => this.#counts((label) => [{ value: health.resends(label) }]),
    );
    addCounter(
      registry,
      {
        name: 'naru_upstream_attempts_total',
        help: 'Attempts at a candidate, by how they ended; responded: a response began.',
        labelNames: ['candidate', 'outcome'],
      },
      () =>
        this.#counts((label) =>
          [...health.attemptsOf(label)].map(([outcome, value]) => ({ labels: { outcome }, value })),
        ),
    );
  }

  #each(read: (report: CandidateReport) => number | null, more: Reading['labels'] = {}): readonly Reading[] {
    return this.#reports.flatMap((report) => {
      const value = read(report);
      return value === null ? [] : [{ labels: { candidate: report.candidate, ...more }, value }];
    });
  }

  /** All candidates while they are few; of many, the used and drained ones, up to the maximum. */
  #shown(): readonly CandidateReport[] {
    const { catalogue, health, drains } = this.#readings;
    const labels = labelsOf(catalogue());
    this.#own.keepOnly(({ candidate }) => labels.has(candidate));
    const isFew = labels.size <= maxCandidates;
    return reportHealth({ catalogue: catalogue(), health, drains }, (label, isDrained) => {
      if (this.#own.has(label)) return true;
      const isWanted = isFew || isDrained || health.of(label).attempts(halfAnHourMs) > 0;
      if (this.#own.isFull || !isWanted) return false;
      this.#own.of(label);
      return true;
    });
  }

  /** Those of candidates without series of their own are counted together. */
  #counts(read: (label: string) => readonly Reading[]): readonly Reading[] {
    const shown = new Set(this.#reports.map(({ candidate }) => candidate));
    return [...labelsOf(this.#readings.catalogue())].flatMap((label) => {
      const candidate = shown.has(label) ? label : otherLabel;
      return read(label).map(({ labels, value }) => ({ labels: { candidate, ...labels }, value }));
    });
  }
}

function secondsOf(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}
