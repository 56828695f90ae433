import { maxReasonLength } from '../dialect.ts';

/** An upstream's error message, or the start of the body when it has none. For the log. */
export function parseErrorMessage(body: string): string {
  try {
    const parsed = JSON.parse(body) as {
      readonly error?: { readonly message?: unknown };
      readonly message?: unknown;
      readonly Message?: unknown;
    } | null;
    const message = parsed?.error?.message ?? parsed?.message ?? parsed?.Message;
    if (typeof message === 'string') return message.slice(0, maxReasonLength);
  } catch {
    // Not JSON: a proxy's HTML page, for example.
  }
  return body.slice(0, maxReasonLength);
}
