/** A number as it is now, for the metrics page. */
export interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Counts what the server does, and writes the Prometheus text format (decisions.md §4). */
export class Metrics {
  readonly #requests = new Map<string, number>();

  /** One request has ended; `route` is the row's path, so that the number of series stays small. */
  countRequest(route: string, status: number): void {
    const labels = `route="${route}",status="${status}"`;
    this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1);
  }

  /** The page. */
  text(gauges: readonly Gauge[]): string {
    const lines = ['# HELP naru_requests_total Requests answered.', '# TYPE naru_requests_total counter'];
    for (const [labels, count] of this.#requests) lines.push(`naru_requests_total{${labels}} ${count}`);
    let last = '';
    for (const gauge of gauges) {
      if (gauge.name !== last) lines.push(`# HELP ${gauge.name} ${gauge.help}`, `# TYPE ${gauge.name} gauge`);
      last = gauge.name;
      const labels = Object.entries(gauge.labels ?? {}).map(([name, value]) => `${name}="${escaped(value)}"`);
      lines.push(`${gauge.name}${labels.length === 0 ? '' : `{${labels.join(',')}}`} ${gauge.value}`);
    }
    return `${lines.join('\n')}\n`;
  }
}

/** A label's value as the text format has it. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
