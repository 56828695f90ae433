import type { CountTexts } from './count-tokens.ts';

/**
 * Long text is counted in pieces of this many UTF-16 units: whole windows of the tokenizer, so that
 * the sum is the count of the whole text.
 */
const pieceLength = 65_536;

/**
 * The text of a response: its size and its tokens. A long one is counted as it passes, and only its
 * end is kept: a response may have 32 Mi units, and a stream of it may last for an hour.
 */
export class ResponseText {
  readonly #count: CountTexts | null;
  /** UTF-16 units. */
  #length = 0;
  /** UTF-8 bytes. */
  #bytes = 0;
  /** What is not counted yet. */
  #end = '';
  #tokens = 0;

  /** Without `count` the text is only measured. */
  constructor(count: CountTexts | null) {
    this.#count = count;
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(text: string): void {
    this.#length += text.length;
    this.#bytes += Buffer.byteLength(text);
    if (this.#count !== null) this.#end += text;
  }

  /** Counts what is long enough, and drops it. Null: nothing is; no text is added meanwhile. */
  countPieces(): Promise<void> | null {
    const wholeLength = this.#end.length - (this.#end.length % pieceLength);
    if (wholeLength === 0 || this.#count === null) return null;
    const whole = this.#end.slice(0, wholeLength);
    // A slice would keep the text that it is a part of.
    this.#end = Buffer.from(this.#end.slice(wholeLength), 'utf16le').toString('utf16le');
    return this.#count([whole]).then((tokens) => {
      this.#tokens += tokens;
    });
  }

  /** Our own count of all text. */
  async tokens(): Promise<number> {
    return this.#tokens + ((await this.#count?.([this.#end])) ?? 0);
  }
}
