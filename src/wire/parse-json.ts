import { isUtf8 } from 'node:buffer';
import { refuse } from '../errors/catalogue.ts';
import { type Message, messages } from '../errors/messages.ts';
import { bodyLimits, type JsonFault, shapeFault } from './json-guard.ts';

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
