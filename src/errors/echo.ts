/** What an error repeats of a request is at most this long, in UTF-16 units. */
const maxEchoLength = 500;
const maxEchoItems = 50;

/** A text of the client as an error repeats it: whole, or its first 499 units and an ellipsis. Never half a character. */
export function echoed(text: string): string {
  if (text.length <= maxEchoLength) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(maxEchoLength - 2)) ? maxEchoLength - 2 : maxEchoLength - 1;
  return `${text.slice(0, end)}…`;
}

/** The same for a member of `metadata`: every text in it, and the first 50 items of a list. */
export function echoedValue(value: unknown): unknown {
  if (typeof value === 'string') return echoed(value);
  return Array.isArray(value) ? value.slice(0, maxEchoItems).map(echoedValue) : value;
}
