import { isUtf8 } from 'node:buffer';

/** The result of parsing a body. */
export type ParsedJson =
  | {
      readonly kind: 'value';
      readonly value: unknown;
      /** Whether an escape may state half of a surrogate pair. */
      readonly hasSurrogates: boolean;
    }
  | { readonly kind: 'not_utf8' }
  | { readonly kind: 'not_json' };

/** Parses JSON text. Never throws. */
export function parseJson(bytes: Uint8Array): ParsedJson {
  if (!isUtf8(bytes)) return { kind: 'not_utf8' };
  try {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
    return { kind: 'value', value: JSON.parse(text), hasSurrogates: surrogateEscape.test(text) };
  } catch {
    return { kind: 'not_json' };
  }
}

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
