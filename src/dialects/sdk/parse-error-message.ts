import { maxReasonLength } from '../dialect.ts';

/** An upstream's words for why it refused: its error's message, else the start of the body. For the log. */
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
    // Not JSON: a proxy's page, say.
  }
  return body.slice(0, maxReasonLength);
}
