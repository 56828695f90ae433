/**
 * Parses JSON without losing digits: an integer beyond a JavaScript number becomes a `bigint`.
 * Everything else is as with `JSON.parse`. Throws a `SyntaxError`.
 */
export function parseExactJson(text: string): unknown {
  return JSON.parse(text, exactly);
}

function exactly(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return /^-?\d{1,400}$/.test(source) ? BigInt(source) : value;
}
