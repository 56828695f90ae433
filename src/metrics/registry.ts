import {
  AggregatorRegistry,
  Counter,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';

export { Counter, Gauge, Histogram, Registry };

/** A metric with its series, as the library reads it from a registry; survives JSON. */
export type MetricData = MetricObjectWithValues<MetricValue<string>>;

/** Labels of a series. */
export type Labels = Readonly<Record<string, string>>;

/** One series of a metric that is read when the page is. */
export interface Reading {
  readonly labels?: Labels;
  readonly value: number;
}

/** What a metric is. Help is one sentence; label names are ours. */
export interface MetricOptions<Label extends string = string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly Label[];
}

/** Registers a gauge whose series are read for each page. */
export function addGauge(registry: Registry, options: MetricOptions, read: () => readonly Reading[]): void {
  new Gauge({
    ...options,
    registers: [registry],
    collect() {
      if (options.labelNames !== undefined) this.reset();
      for (const { labels = {}, value } of read()) this.set(labels, value);
    },
  });
}

/** Registers a counter that is kept elsewhere and only read here. */
export function addCounter(registry: Registry, options: MetricOptions, read: () => readonly Reading[]): void {
  new Counter({
    ...options,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels = {}, value } of read()) this.inc(labels, value);
    },
  });
}

/**
 * The metrics of a registry. Series without a number are left out: JSON and strict readers have no
 * NaN.
 */
export async function readRegistry(registry: Registry): Promise<readonly MetricData[]> {
  const metrics = (await registry.getMetricsAsJSON()) as unknown as readonly MetricData[];
  return metrics.map((metric) => ({
    ...metric,
    values: metric.values.filter(({ value }) => Number.isFinite(value)),
  }));
}

/** The metrics, each series with one more label. */
export function labelled(metrics: readonly MetricData[], name: string, value: string): readonly MetricData[] {
  return metrics.map((metric) => ({
    ...metric,
    values: metric.values.map((one) => ({ ...one, labels: { ...one.labels, [name]: value } })),
  }));
}

/**
 * The metrics page, in the Prometheus text format 0.0.4 (spec:operator/3.3). A metric that several
 * lists have appears once, with the series of all.
 */
export function renderPage(lists: readonly (readonly MetricData[])[]): Promise<string> {
  // No two lists have a series in common, so the library's sum leaves every value as it is.
  const all = lists.map((metrics) => metrics.map((metric) => ({ ...metric, aggregator: 'sum' })));
  return AggregatorRegistry.aggregate(
    all as unknown as Parameters<typeof AggregatorRegistry.aggregate>[0],
  ).metrics();
}
