/** The longest `Retry-After` that is accepted from a server. */
const maxWaitMs = 30_000;

/** A server's message as part of a reason: one line, at most 200 characters, without the secret. */
export function sanitizeMessage(message: string, secret: string): string {
  const open = secret === '' ? message : message.replaceAll(secret, '***');
  return open
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, 200);
}

/** The seconds of a `Retry-After` in milliseconds, at most 30 s; null when there are none. */
export function parseRetryAfterMs(header: string | undefined): number | null {
  if (header === undefined || !/^\d{1,9}$/.test(header)) return null;
  return Math.min(Number(header) * 1000, maxWaitMs);
}
