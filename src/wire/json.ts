import { isUtf8 } from 'node:buffer';
import { refuse } from '../errors/catalogue.ts';
import { type Message, messages } from '../errors/messages.ts';

/** The result of parsing a body. */
export type ParsedJson =
  | {
      readonly kind: 'value';
      readonly value: unknown;
      /** Whether an escape may state half of a surrogate pair. */
      readonly hasSurrogates: boolean;
    }
  | { readonly kind: 'not_utf8' | 'not_json' | JsonFault };

/** Parses the JSON text of a body, unless its shape exceeds the limits. Never throws. */
export function parseJson(bytes: Uint8Array): ParsedJson {
  if (!isUtf8(bytes)) return { kind: 'not_utf8' };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  const fault = shapeFault(text, bodyLimits);
  if (fault !== null) return { kind: fault };
  try {
    return { kind: 'value', value: JSON.parse(text), hasSurrogates: surrogateEscape.test(text) };
  } catch {
    return { kind: 'not_json' };
  }
}

/** The parsed value. Refuses with `400 invalid_request` what is none. */
export function parsedValue(parsed: ParsedJson): unknown {
  if (parsed.kind === 'value') return parsed.value;
  throw refuse('invalid_request', because[parsed.kind]);
}

const because: Readonly<Record<Exclude<ParsedJson['kind'], 'value'>, Message>> = {
  not_utf8: messages.bodyNotUtf8(),
  not_json: messages.bodyNotJson(),
  too_deep: messages.bodyTooDeep(),
  too_many_values: messages.bodyTooManyValues(),
};

/** An escape of half of a surrogate pair, in JSON text. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;

/**
 * The value with well-formed texts and names: half of a surrogate pair, which only an escape can
 * state, becomes U+FFFD. It has no UTF-8 form, and strict parsers reject what contains it.
 */
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.toWellFormed(), wellFormed(member)]),
  );
}

/** A JSON object as it was received, unchecked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object, which a list is not. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member of a JSON object; undefined where there is no object, or no such member. */
export function memberIn(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** Limits on the shape of a JSON text. */
export interface JsonLimits {
  /** Nesting of objects and arrays. */
  readonly depth: number;
  /** Objects, arrays and commas together: bounds the cost of parsing. */
  readonly values: number;
}

/**
 * Far above any real request, whose largest parts are a few long strings. `JSON.parse` needs 6 s and
 * 820 MB for 25 MB of `{},`.
 */
export const bodyLimits: JsonLimits = { depth: 128, values: 300_000 };

/**
 * An upstream's response may be larger: 100,000 tokens with two alternatives each are a million
 * values. Deeper values cannot be serialized: `JSON.stringify` overflows the stack at some 5,000
 * levels, while `JSON.parse` has no limit.
 */
export const responseLimits: JsonLimits = { depth: 128, values: 1_000_000 };

/** Why a text is not parsed. */
export type JsonFault = 'too_deep' | 'too_many_values';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** Why a text exceeds the limits, or null. */
export function shapeFault(text: string, limits: JsonLimits): JsonFault | null {
  const counted = countValues(text, limits);
  return typeof counted === 'string' ? counted : null;
}

/**
 * The objects, arrays and commas of a text, or why it exceeds the limits. Does not validate JSON.
 */
export function countValues(text: string, limits: JsonLimits): number | JsonFault {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = stringEnd(text, at);
        break;
      case openBrace:
      case openBracket:
        depth += 1;
        values += 1;
        if (depth > limits.depth) return 'too_deep';
        break;
      case closeBrace:
      case closeBracket:
        if (depth > 0) depth -= 1;
        break;
      case comma:
        values += 1;
        break;
    }
    if (values > limits.values) return 'too_many_values';
  }
  return values;
}

/** The offset of the quote that ends the string that begins at `start`, or the end of the text. */
function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

/** Whether an odd number of backslashes stands before a character of a string. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === backslash) before -= 1;
  return (at - before) % 2 === 0;
}
