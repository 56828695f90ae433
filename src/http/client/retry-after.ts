type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * The `Retry-After` of a response, in milliseconds from now, 0 for an instant in the past; null
 * when there is no valid one. `retry-after-ms` is exact and takes precedence. A date is compared
 * with the response's own `Date`, because the two clocks may differ; `nowMs` is civil time.
 */
export function retryAfterOf(headers: Headers, nowMs: number): number | null {
  const exact = textOf(headers, 'retry-after-ms');
  if (exact !== null && number.test(exact)) return Number(exact);
  const stated = textOf(headers, 'retry-after');
  if (stated === null) return null;
  if (number.test(stated)) return Number(stated) * 1000;
  const untilMs = httpDate(stated);
  if (untilMs === null) return null;
  return Math.max(0, untilMs - (httpDate(textOf(headers, 'date') ?? '') ?? nowMs));
}

const number = /^\d{1,12}(?:\.\d{1,6})?$/;

/**
 * Epoch milliseconds of the one date format that HTTP still writes, such as `Sun, 06 Nov 1994
 * 08:49:37 GMT`.
 */
function httpDate(text: string): number | null {
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

function textOf(headers: Headers, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value.trim() : null;
}
