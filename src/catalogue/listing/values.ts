import { plainDecimal } from '../../config/rates.ts';

/** A JSON object that nobody has validated. */
export type Json = Readonly<Record<string, unknown>>;

/** A price per token as one per million (`power` 6), as plain decimal text. */
export function perMillion(value: unknown, power = 6): string | undefined {
  if (typeof value !== 'string' || value.length > 40) return undefined;
  const text = plainDecimal(value, power) ?? undefined;
  return text !== undefined && /^\d{1,12}(\.\d{1,24})?$/.test(text) ? text : undefined;
}

/** The member, unless it is unknown. */
export function stated<N extends string, V>(name: N, value: V | undefined): { readonly [K in N]?: V } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [K in N]?: V };
}

/** A plausible number of tokens. */
export function tokensOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 1e9
    ? value
    : undefined;
}

/** A text of a bounded length, without NUL. */
export function textIn(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.replaceAll('\0', '').trim();
  return text.length === 0 || text.length > 20_000 ? undefined : text;
}

/** Whether it is a day, `YYYY-MM-DD`. */
export function isDay(value: unknown): value is string {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false;
  const ms = Date.parse(value);
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(value);
}

/** The members of an object; none of anything else. */
export function membersOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}
