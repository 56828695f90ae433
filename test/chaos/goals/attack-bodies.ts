/** A body with a high cost, and whether it has its own chunking. */
export interface AttackBody {
  readonly bytes: Buffer;
  readonly isChunked: boolean;
}

const mb = 1_000_000;

function bodyWith(content: string, more = ''): string {
  return `{"model":"test/echo","messages":[{"role":"user","content":${content}}]${more}}`;
}

function list(count: number, item: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => item(at)).join();
}

const bodies: Readonly<Record<string, () => string>> = {
  'distinct names': () => bodyWith('"hi"', `,"metadata":{${list(249_000, (at) => `"k${at}":1`)}}`),
  'names below the limit': () => bodyWith('"hi"', `,"metadata":{${list(19_000, (at) => `"k${at}":1`)}}`),
  'escaped quotes': () => bodyWith(`"${'\\"'.repeat(12 * mb)}"`),
  'escapes below the limit': () => bodyWith(`"${'\\"'.repeat(0.95 * mb)}"`),
  'lone surrogates': () => bodyWith(`"${'\\ud800'.repeat(4 * mb)}"`),
  'short strings': () => bodyWith('"hi"', `,"stop":[${list(149_000, (at) => `"s${at}"`)}]`),
  'one long text': () => bodyWith(`"${'QUJD'.repeat(6 * mb)}"`),
  'korean in escapes': () => bodyWith(`"${'\\ud55c'.repeat(4 * mb)}"`),
};

/** The kinds of bodies. */
export const attackKinds = [...Object.keys(bodies), 'one-byte chunks'];

/** The body of a kind. */
export function attackBody(kind: string): AttackBody {
  if (kind === 'one-byte chunks') return { bytes: Buffer.from('1\r\n \r\n'.repeat(2 * mb)), isChunked: true };
  const text = bodies[kind];
  if (text === undefined) throw new Error(`there is no attack ${kind}`);
  return { bytes: Buffer.from(text()), isChunked: false };
}
