import { z } from 'zod';
import { decimalToScaled, isFinerThanMicroWon, type Krw, krwFromDecimal } from '../money/krw.ts';
import { camelCased } from './camel-case.ts';
import { plainDecimal } from './rates.ts';
import { Secret } from './secret.ts';

/**
 * The value types of members. Every scalar arrives as its text in the file, so each type parses
 * text; `json` is the type for editors (`json-schema.ts`).
 */
export type Field<T> = z.ZodType<T, string>;

/** Why a text is invalid: completes the sentence "limits.burst …". */
class Invalid {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** The pattern for editors where a value may also come from outside the file. */
const outside = '\\$\\{|^file:';

/** A whole number within inclusive bounds. */
export function integer(description: string, min: number, max: number): Field<number> {
  const range = `must be a whole number from ${min} to ${max}`;
  const json = { type: ['integer', 'string'], minimum: min, maximum: max, pattern: outside };
  return field(description, json, (text) => {
    const value = /^[+-]?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : new Invalid(range);
  });
}

/** A number that is not money, within inclusive bounds. */
export function number(description: string, min: number, max: number): Field<number> {
  const json = { type: ['number', 'string'], minimum: min, maximum: max, pattern: outside };
  return field(description, json, (text) => {
    const value = decimalText.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : new Invalid(`must be a number from ${min} to ${max}`);
  });
}

const decimalText = /^[+-]?(\d{1,100}(\.\d{0,100})?|\.\d{1,100})([eE][+-]?\d{1,3})?$/;

/** `true` or `false`. */
export function flag(description: string): Field<boolean> {
  const json = { type: ['boolean', 'string'], pattern: outside };
  return field(description, json, (text) =>
    text === 'true' || text === 'false' ? text === 'true' : new Invalid('must be true or false'),
  );
}

/**
 * An exact, non-negative decimal number, as plain text without redundant zeros: prices and exchange
 * rates. Its exponent is within ±400.
 */
export function decimal(description: string, min: 'zero' | 'above zero' = 'zero'): Field<string> {
  const json = { type: ['number', 'string'], [min === 'zero' ? 'minimum' : 'exclusiveMinimum']: 0 };
  const wanted = min === 'zero' ? 'must be a decimal number, 0 or more' : 'must be a decimal number above 0';
  return field(description, json, (text) => {
    const zero = !/[1-9]/.test(text.replace(/[eE].*$/, ''));
    const negative = text.startsWith('-');
    const isExact = decimalText.test(text) && decimalToScaled(text, 0) !== null;
    const isValid = isExact && !negative && (min === 'zero' || !zero);
    return (isValid ? plainDecimal(text) : null) ?? new Invalid(wanted);
  });
}

/** An amount in won, from 0 to 10^15. */
export function won(description: string): Field<Krw> {
  return field(description, { type: ['number', 'string'], minimum: 0, maximum: 1e15 }, (text) => {
    const amount = decimalText.test(text) ? krwFromDecimal(text) : null;
    if (amount === null || amount < 0n)
      return new Invalid('must be an amount in won, 0 or more and at most 10^15');
    return isFinerThanMicroWon(text)
      ? new Invalid('has more than six decimals; a micro-won is the smallest amount')
      : amount;
  });
}

/** Text of 1 to 20,000 characters. */
export function text(description: string): Field<string> {
  return shaped(description, /^[^\0]{1,20000}$/su, 'must be text of 1 to 20,000 characters');
}

/** Text of a pattern; `wanted` completes the sentence "slots[0].name …". */
export function shaped(description: string, form: RegExp, wanted: string): Field<string> {
  return field(description, { type: ['string', 'number'] }, (value) =>
    form.test(value) ? value : new Invalid(wanted),
  );
}

/**
 * Text that a check accepts: `check` returns the error message, or null; `read` is its value. A
 * rejected text is not quoted, because a URL may contain a password.
 */
export function checked(
  description: string,
  check: (value: string) => string | null,
  read: (value: string) => string = (value) => value,
): Field<string> {
  return unquotedField(description, (value) => {
    const message = check(value);
    return message === null ? read(value) : new Invalid(message);
  });
}

/**
 * A credential: printable ASCII, because it is sent in a header. Never quoted in a message. `check`
 * returns an error message, or null.
 */
export function secret(
  description: string,
  check: (value: string) => string | null = () => null,
): Field<Secret> {
  return unquotedField(description, (value) => {
    if (!/^[\x20-\x7e]{1,8192}$/.test(value))
      return new Invalid('is empty, too long, or contains characters that are invalid in an HTTP header');
    const message = check(value);
    return message === null ? new Secret(value) : new Invalid(message);
  });
}

/** As `secret`, but empty text means that there is none. */
export function secretOrNothing(description: string): Field<Secret | null> {
  return unquotedField(description, (value) => {
    if (value === '') return null;
    return /^[\x20-\x7e]{1,8192}$/.test(value)
      ? new Secret(value)
      : new Invalid('is too long or contains characters that are invalid in an HTTP header');
  });
}

/** `embedded`, or the URL of a PostgreSQL server, which may contain a password. */
export function databaseUrl(description: string): Field<'embedded' | Secret> {
  return unquotedField(description, (value) => {
    if (value === 'embedded') return value;
    const isUrl = /^postgres(ql)?:\/\/./.test(value) && URL.canParse(value);
    return isUrl ? new Secret(value) : new Invalid('must be embedded or a postgres:// URL');
  });
}

/** One of a few words. */
export function choice<const W extends string>(description: string, message: readonly W[]) {
  const json = { anyOf: [{ enum: message }, { type: 'string', pattern: outside }] };
  return z.enum(message).meta({ description, json: { ...json, description } });
}

/** A member that may be absent, which is null then. */
export function optional<S extends z.ZodType>(schema: S) {
  return schema.optional().transform((value) => value ?? null);
}

/** An optional member, and its default as text. */
export function withDefault<S extends z.ZodType<unknown, string>>(
  schema: S,
  standIn: string,
): z.ZodPrefault<S> {
  const meta = schema.meta();
  const json = meta?.['json'] as { readonly type?: string | readonly string[] } | undefined;
  const [kind] = [json?.type].flat();
  const asJson =
    kind === 'integer' || kind === 'number'
      ? Number(standIn)
      : kind === 'boolean'
        ? standIn === 'true'
        : standIn;
  return z.prefault(schema, standIn as never).meta({ ...meta, json: { ...json, default: asJson } });
}

/** A mapping with exactly these members, whose value has their names in camelCase. */
export function object<const S extends z.core.$ZodLooseShape>(description: string, shape: S) {
  return objectAsNamed(description, shape).transform(camelCased);
}

/** A mapping with exactly these members, whose value has their names in the file. */
export function objectAsNamed<const S extends z.core.$ZodLooseShape>(
  description: string,
  shape: S,
  id?: string,
) {
  return z
    .strictObject(shape, { error: (issue) => knownMembers(issue.code, shape) })
    .meta({ description, ...(id !== undefined && { id }) });
}

/** A list of at least `min` items. */
export function list<S extends z.ZodType>(description: string, item: S, min = 0) {
  return z.array(item).min(min).meta({ description });
}

/**
 * The message of the issue contains the member names of the section: nothing else in it identifies
 * the section.
 */
function knownMembers(code: string | undefined, shape: object): string | undefined {
  return code === 'unrecognized_keys' ? Object.keys(shape).join(' ') : undefined;
}

function field<T>(description: string, json: object, read: (text: string) => T | Invalid): Field<T> {
  return fieldOf(description, json, read, true);
}

function unquotedField<T>(description: string, read: (text: string) => T | Invalid): Field<T> {
  return fieldOf(description, { type: 'string' }, read, false);
}

function fieldOf<T>(
  description: string,
  json: object,
  read: (text: string) => T | Invalid,
  mayQuote: boolean,
): Field<T> {
  return z
    .string()
    .transform((value, context): T => {
      const result = read(value);
      if (!(result instanceof Invalid)) return result;
      context.addIssue({ code: 'custom', message: result.message, params: { mayQuote } });
      return z.NEVER;
    })
    .meta({ description, json: { ...json, description } });
}
