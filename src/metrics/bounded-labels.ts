/** What stands for every set of labels beyond the maximum. */
export const otherLabel = 'other';

/**
 * Bounds the number of series: the first `maxSets` sets of label values have series of their own,
 * all later ones share one whose values are `other`. A set keeps what it was given, so that a
 * counter never goes back.
 */
export class BoundedLabels<Name extends string> {
  readonly #names: readonly Name[];
  readonly #maxSets: number;
  readonly #own = new Map<string, Readonly<Record<Name, string>>>();
  readonly #other: Readonly<Record<Name, string>>;

  constructor(names: readonly Name[], maxSets: number) {
    this.#names = names;
    this.#maxSets = maxSets;
    this.#other = this.#labels(names.map(() => otherLabel));
  }

  /** The labels for these values, which are in the order of the names. */
  of(...values: readonly string[]): Readonly<Record<Name, string>> {
    const key = values.length === 1 ? (values[0] ?? '') : values.join('\n');
    const own = this.#own.get(key);
    if (own !== undefined) return own;
    if (this.isFull) return this.#other;
    const labels = this.#labels(values);
    this.#own.set(key, labels);
    return labels;
  }

  /** Whether these values have series of their own. */
  has(...values: readonly string[]): boolean {
    return this.#own.has(values.join('\n'));
  }

  /** Whether no further set can have series of its own. */
  get isFull(): boolean {
    return this.#own.size >= this.#maxSets;
  }

  /** Takes the sets away that fail the test, and returns them: their series are to be removed. */
  keepOnly(
    test: (labels: Readonly<Record<Name, string>>) => boolean,
  ): readonly Readonly<Record<Name, string>>[] {
    const removed = [...this.#own].filter(([, labels]) => !test(labels));
    for (const [key] of removed) this.#own.delete(key);
    return removed.map(([, labels]) => labels);
  }

  #labels(values: readonly string[]): Readonly<Record<Name, string>> {
    return Object.fromEntries(this.#names.map((name, at) => [name, values[at] ?? ''])) as Record<
      Name,
      string
    >;
  }
}
