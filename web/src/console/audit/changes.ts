type Values = Readonly<Record<string, unknown>> | null;

/** A member that an act changed, as text. */
export interface Changed {
  /** As the log has it, such as `amount_micro`. */
  readonly name: string;
  /** Null: the act states no value before. */
  readonly before: string | null;
  readonly after: string | null;
}

/** What an act changed, by member; `money` writes an amount of micro-won. */
export function changesOf(
  before: Values,
  after: Values,
  money: (micro: string) => string,
): readonly Changed[] {
  const textOf = (name: string, value: unknown): string | null => {
    if (value === undefined || value === null) return null;
    if (name.endsWith('_micro') && typeof value === 'string' && /^-?\d+$/.test(value)) return money(value);
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names].map((name) => ({
    name,
    before: textOf(name, before?.[name]),
    after: textOf(name, after?.[name]),
  }));
}
