import type { Family } from './exposition.ts';

/** A current value on the metrics page. */
export interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Counts what the server does, for the metrics page (spec:operator/3.3). */
export class Metrics {
  readonly #requests = new Map<string, { readonly labels: Record<string, string>; value: number }>();

  /**
   * Counts one completed request; `route` is the row's path, so that the number of series stays
   * small.
   */
  countRequest(route: string, status: number): void {
    const key = `${status} ${route}`;
    const counted = this.#requests.get(key);
    if (counted !== undefined) counted.value += 1;
    else this.#requests.set(key, { labels: { route, status: String(status) }, value: 1 });
  }

  /** The counters, and the gauges. */
  families(gauges: readonly Gauge[]): readonly Family[] {
    const requests: Family = {
      name: 'naru_requests_total',
      help: 'Requests answered.',
      type: 'counter',
      samples: [...this.#requests.values()],
    };
    const named = Map.groupBy(gauges, ({ name }) => name);
    const families = [...named].map(([name, [first, ...rest]]): Family => {
      const samples = (first === undefined ? [] : [first, ...rest]).map(({ labels = {}, value }) => ({
        labels,
        value,
      }));
      return { name, help: first?.help ?? '', type: 'gauge', samples };
    });
    return [requests, ...families];
  }
}
