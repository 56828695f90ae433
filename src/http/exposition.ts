/**
 * A metric with all its series. Metric and label names are ours and are not escaped; label values
 * may contain anything.
 */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly Sample[];
}

/** One line of a family. */
export interface Sample {
  /** The suffix of a histogram line's name. */
  readonly suffix?: '_bucket' | '_sum' | '_count';
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The families in the Prometheus text format, version 0.0.4 (spec:operator/3.3). */
export function exposition(families: readonly Family[]): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of families) {
    lines.push(
      `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
      `# TYPE ${name} ${type}`,
    );
    for (const { suffix = '', labels, value } of samples)
      lines.push(`${name}${suffix}${labelsOf(labels)} ${numberOf(value)}`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** Counts values in buckets; the series of one set of labels. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  /** `bounds` are the inclusive upper bounds of the buckets, ascending; `+Inf` is added. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    const at = this.#bounds.findIndex((bound) => value <= bound);
    if (at >= 0) this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#sum += value;
    this.#count += 1;
  }

  samples(labels: Readonly<Record<string, string>>): readonly Sample[] {
    let below = 0;
    const buckets = this.#bounds.map((bound, at): Sample => {
      below += this.#counts[at] ?? 0;
      return { suffix: '_bucket', labels: { ...labels, le: numberOf(bound) }, value: below };
    });
    return [
      ...buckets,
      { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: this.#count },
      { suffix: '_sum', labels, value: this.#sum },
      { suffix: '_count', labels, value: this.#count },
    ];
  }
}

function labelsOf(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function numberOf(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}
