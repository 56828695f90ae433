import { isUtf8 } from 'node:buffer';

/** The result of parsing a body. */
export type ParsedJson =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'not_utf8' }
  | { readonly kind: 'not_json' };

/**
 * Parses JSON text. Half of a surrogate pair, which only an escape can state, becomes U+FFFD: it
 * has no UTF-8 form, and strict parsers reject what contains it. Never throws.
 */
export function parseJson(bytes: Uint8Array): ParsedJson {
  if (!isUtf8(bytes)) return { kind: 'not_utf8' };
  try {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
    const value: unknown = JSON.parse(text);
    return { kind: 'value', value: surrogateEscape.test(text) ? wellFormed(value) : value };
  } catch {
    return { kind: 'not_json' };
  }
}

/** An escape of half of a surrogate pair, in JSON text. */
export const surrogateEscape = /\\u[dD][89a-fA-F]/;

/** The value with well-formed texts and names. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.toWellFormed(), wellFormed(member)]),
  );
}
