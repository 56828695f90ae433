/** A server's message as part of a reason: one line, at most 200 characters, without the secret. */
export function sanitizeMessage(message: string, secret: string): string {
  const open = secret === '' ? message : message.replaceAll(secret, '***');
  return open
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, 200);
}
