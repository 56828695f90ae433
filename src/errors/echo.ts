/** The longest text of a request that a message repeats, in UTF-16 units (spec:errors/1.7). */
const maxEchoLength = 500;

/**
 * A text of the client for an error: whole, or its first 499 units and an ellipsis. Never splits a
 * character.
 */
export function echoed(text: string): string {
  if (text.length <= maxEchoLength) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(maxEchoLength - 2)) ? maxEchoLength - 2 : maxEchoLength - 1;
  return `${text.slice(0, end)}…`;
}
