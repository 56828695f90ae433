import { isUtf8 } from 'node:buffer';

/** The result of parsing a body. */
export type ParsedJson =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'not_utf8' }
  | { readonly kind: 'not_json' };

/** Parses JSON text. Never throws. */
export function parseJson(bytes: Uint8Array): ParsedJson {
  if (!isUtf8(bytes)) return { kind: 'not_utf8' };
  try {
    return {
      kind: 'value',
      value: JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')),
    };
  } catch {
    return { kind: 'not_json' };
  }
}
