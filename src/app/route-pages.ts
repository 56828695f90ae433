import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Family } from '../http/exposition.ts';
import type { Gauge } from '../http/metrics.ts';
import type { AdminPage } from '../http/serve-admin.ts';
import { explainRoute, questionOf } from '../inference/explain-route.ts';
import { type CandidateReport, reportHealth } from '../routing/health-report.ts';
import type { Health } from '../upstreams/health.ts';
import type { HealthView } from '../upstreams/health-status.ts';
import type { AdminHealth, AdminRoute } from './route-explain.ts';

/** `GET /route?model=…` and `GET /route/health` of the admin port: what `naru route` asks the running server. */
export function routePages(
  dataDir: string,
  catalogue: () => Catalogue,
  health: HealthView,
): Readonly<Record<string, AdminPage>> {
  return {
    '/route': (query): AdminRoute => ({
      data_dir: dataDir,
      explanation: explainRoute(questionOf(query), { catalogue: catalogue(), health, knowledge: 'live' }),
    }),
    '/route/health': (): AdminHealth => ({
      data_dir: dataDir,
      candidates: reportHealth(catalogue(), health),
    }),
  };
}

const circuits: Readonly<Record<CandidateReport['circuit'], number>> = {
  closed: 0,
  due: 1,
  probing: 1,
  open: 2,
};

/** How the candidates do, for the metrics page. What was not measured has no line. */
export function upstreamGauges(catalogue: Catalogue, health: HealthView): readonly Gauge[] {
  const reports = reportHealth(catalogue, health);
  const gauge = (
    name: string,
    help: string,
    value: (report: CandidateReport) => number | null,
    labels: Readonly<Record<string, string>> = {},
  ): readonly Gauge[] =>
    reports.flatMap((report) => {
      const measured = value(report);
      return measured === null
        ? []
        : [{ name, help, labels: { candidate: report.candidate, ...labels }, value: measured }];
    });
  const latency = 'Milliseconds to the first words of a stream, over 30 min.';
  return [
    ...gauge(
      'naru_upstream_circuit',
      '0 closed, 1 to be probed, 2 open.',
      ({ circuit }) => circuits[circuit],
    ),
    ...gauge(
      'naru_upstream_failures_in_a_row',
      'Failures since the last answer.',
      (one) => one.failures_in_a_row,
    ),
    ...gauge('naru_upstream_cool_down_seconds', 'What is left after a 429.', (one) => one.cool_down_s ?? 0),
    ...gauge('naru_upstream_attempts', 'Attempts that ended, over 30 min.', (one) => one.attempts_30m),
    ...gauge('naru_upstream_uptime_percent', 'Answers among them.', (one) => one.uptime_30m),
    ...gauge('naru_upstream_latency_ms', latency, (one) => one.latency_p50_ms, { quantile: '0.5' }),
    ...gauge('naru_upstream_latency_ms', latency, (one) => one.latency_p90_ms, { quantile: '0.9' }),
    ...gauge('naru_upstream_latency_ms', latency, (one) => one.latency_p99_ms, { quantile: '0.99' }),
    ...gauge('naru_upstream_tokens_per_second', 'Median, over 30 min.', (one) => one.throughput_p50),
  ];
}

/** How many requests were sent once more on a new connection, for the metrics page (docs/decisions/stale-connections.md). */
export function resendFamily(catalogue: Catalogue, health: Pick<Health, 'resends'>): Family {
  const labels = new Set(catalogue.models.flatMap(({ candidates }) => candidates.map(({ label }) => label)));
  return {
    name: 'naru_upstream_resends_total',
    help: 'Requests that were sent once more, on a new connection, because theirs was stale.',
    type: 'counter',
    samples: [...labels].map((label) => ({ labels: { candidate: label }, value: health.resends(label) })),
  };
}
