/** An id shortened in its middle: `gen-1764…x7Qf`. One of at most `maxChars` characters stays whole. */
export function shortenId(id: string, maxChars = 18): string {
  if (id.length <= maxChars) return id;
  const kept = maxChars - 1;
  const head = Math.ceil(kept * 0.6);
  return `${id.slice(0, head)}…${id.slice(id.length - (kept - head))}`;
}
