import { frame, framingBytes, type Payload, type RecordType } from './record.ts';

/**
 * Records that wait for their write, in one contiguous buffer that grows to the largest batch and
 * is then reused.
 */
export class Batch {
  #buffer = Buffer.allocUnsafeSlow(64 * 1024);
  #length = 0;
  #draft = 0;

  /** Bytes of the records added. */
  get length(): number {
    return this.#length;
  }

  /** The records added; valid until the next call of `draft`. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /**
   * Encodes a payload behind the records added, without adding it yet. Returns the bytes that its
   * record will have.
   */
  draft(payload: Payload): number {
    this.#draft = framingBytes;
    for (const part of payload) {
      const at = this.#length + this.#draft;
      // UTF-8 needs at most three bytes for each UTF-16 unit.
      this.#reserve(at + part.length * (typeof part === 'string' ? 3 : 1));
      this.#draft +=
        typeof part === 'string' ? this.#buffer.write(part, at, 'utf8') : part.copy(this.#buffer, at);
    }
    return this.#draft;
  }

  /**
   * Adds the drafted record; `base` is the offset in the segment at which this batch will be
   * written.
   */
  add(type: RecordType, salt: number, base: number): void {
    frame(this.#buffer, this.#length, this.#draft, type, salt, base + this.#length);
    this.#length += this.#draft;
    this.#draft = 0;
  }

  /** Clears the records added and keeps the draft, now at the front. */
  clear(): void {
    if (this.#draft > 0) this.#buffer.copyWithin(0, this.#length, this.#length + this.#draft);
    this.#length = 0;
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(bytes, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length + this.#draft);
    this.#buffer = grown;
  }
}
