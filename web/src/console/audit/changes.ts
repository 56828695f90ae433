import { decimalWon } from '../../format/money.ts';

type Values = Readonly<Record<string, unknown>> | null;

/** A member that an act changed, as text. */
export interface Changed {
  readonly name: string;
  /** Null: the act states no value before. */
  readonly before: string | null;
  readonly after: string | null;
}

/** What an act changed, by member; amounts of micro-won in won. */
export function changesOf(before: Values, after: Values): readonly Changed[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names].map((name) => ({
    name: name.replace(/_micro$/, '_krw'),
    before: textOfValue(name, before?.[name]),
    after: textOfValue(name, after?.[name]),
  }));
}

function textOfValue(name: string, value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (name.endsWith('_micro') && typeof value === 'string' && /^-?\d+$/.test(value)) return decimalWon(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
