import type { ChunkChoice, ResponseChunk } from '../../wire/chat.ts';

/**
 * Ends the text of each choice before the stop sequence that is complete first. What may be the
 * beginning of one is held back until more of the text, or the end of the choice, has arrived.
 */
export function cutAtStop(stops: readonly string[]): (chunk: ResponseChunk) => ResponseChunk {
  const held = new Map<number, string>();
  const stopped = new Set<number>();
  const cut = (choice: ChunkChoice): ChunkChoice => {
    const { index, delta, finish_reason: reason } = choice;
    const text = `${held.get(index) ?? ''}${delta.content ?? ''}`;
    if (text === '') return choice;
    if (stopped.has(index)) return { ...choice, delta: { ...delta, content: '' } };
    const at = firstStop(text, stops);
    if (at !== null) stopped.add(index);
    const end = at ?? text.length - (reason === null ? lengthOfOpenStop(text, stops) : 0);
    held.set(index, at === null ? text.slice(end) : '');
    return { ...choice, delta: { ...delta, content: text.slice(0, end) } };
  };
  return (chunk) => ({ ...chunk, choices: chunk.choices.map(cut) });
}

/** Where the stop sequence begins that ends first; null when there is none. */
function firstStop(text: string, stops: readonly string[]): number | null {
  const found = stops
    .map((stop) => ({ at: text.indexOf(stop), length: stop.length }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at + a.length - (b.at + b.length) || a.at - b.at);
  return found[0]?.at ?? null;
}

/** The length of the longest end of `text` with which a stop sequence begins. */
function lengthOfOpenStop(text: string, stops: readonly string[]): number {
  const longest = Math.max(...stops.map(({ length }) => length)) - 1;
  for (let length = Math.min(longest, text.length); length > 0; length -= 1) {
    const end = text.slice(-length);
    if (stops.some((stop) => stop.startsWith(end))) return length;
  }
  return 0;
}
