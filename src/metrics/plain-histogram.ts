import type { Labels, MetricData, MetricOptions, Registry } from './registry.ts';

/** One series. */
interface Series {
  /** For each bound, and for what is above all of them. */
  readonly counts: Float64Array;
  count: number;
  sum: number;
}

const noLabels: Labels = {};

/**
 * A histogram for the path of a call: an observation is a few additions. The library's own joins
 * the label values into a key, and builds six objects, for each observation. A set of labels is
 * identified by its object, as `BoundedLabels` returns it.
 */
export class PlainHistogram {
  readonly name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<Labels, Series>();

  constructor(
    { name, help, labelNames, bounds }: MetricOptions & { readonly bounds: readonly number[] },
    registry: Registry,
  ) {
    this.name = name;
    this.#help = help;
    this.#bounds = bounds;
    if (labelNames === undefined) this.#of(noLabels);
    // The registry reads only the name, and calls `get`.
    registry.registerMetric(this as unknown as Parameters<Registry['registerMetric']>[0]);
  }

  observe(value: number, labels: Labels = noLabels): void {
    const series = this.#series.get(labels) ?? this.#of(labels);
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at += 1;
    series.counts[at] = (series.counts[at] as number) + 1;
    series.count += 1;
    series.sum += value;
  }

  /** How many values each series has. */
  counts(): readonly { readonly labels: Labels; readonly value: number }[] {
    return [...this.#series].map(([labels, { count }]) => ({ labels, value: count }));
  }

  /** Removes a series. */
  remove(labels: Labels): void {
    this.#series.delete(labels);
  }

  /** Every series in the library's form. */
  async get(): Promise<MetricData> {
    const values = [...this.#series].flatMap(([labels, series]) => this.#valuesOf(labels, series));
    // The library types a kind of metric as a number, and writes it as a word.
    return { name: this.name, help: this.#help, type: 'histogram', aggregator: 'sum', values } as never;
  }

  #valuesOf(labels: Labels, { counts, count, sum }: Series): readonly object[] {
    let below = 0;
    const line = (suffix: string, value: number, le: object = {}): object => ({
      value,
      metricName: `${this.name}_${suffix}`,
      labels: { ...le, ...labels },
    });
    const buckets = this.#bounds.map((le, at) => {
      below += counts[at] ?? 0;
      return line('bucket', below, { le });
    });
    return [...buckets, line('bucket', count, { le: '+Inf' }), line('sum', sum), line('count', count)];
  }

  #of(labels: Labels): Series {
    const series = { counts: new Float64Array(this.#bounds.length + 1), count: 0, sum: 0 };
    this.#series.set(labels, series);
    return series;
  }
}
