/** The first block; each further one is at least twice as large. */
const firstBlockBytes = 4_096;
const noBytes = Buffer.alloc(0);

/**
 * The bytes of a body as they arrive, copied into one growing block. Keeping a piece as it arrived
 * costs some 400 bytes of memory whatever its size, and pins the network block that it is part of.
 */
export class ByteCollector {
  readonly #maxBytes: number;
  /** A body that arrives as one piece is that piece. */
  #only: Buffer | null = null;
  #block = noBytes;
  #length = 0;

  /**
   * No block is larger than `maxBytes`, unless that many bytes arrive: the declared length of the
   * body, or the largest accepted.
   */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Bytes of memory used for the body. */
  get heldBytes(): number {
    return this.#only === null ? this.#block.length : this.#only.length;
  }

  push(piece: Buffer): void {
    if (this.#length === 0) this.#only = piece;
    else {
      const only = this.#only;
      this.#only = null;
      if (only !== null) this.#copy(only, 0, this.#length + piece.length);
      this.#copy(piece, this.#length, this.#length + piece.length);
    }
    this.#length += piece.length;
  }

  /** Returns all bytes, once, and releases them. */
  take(): Buffer {
    const taken = this.#only ?? this.#block.subarray(0, this.#length);
    this.clear();
    return taken;
  }

  /** Releases the bytes. */
  clear(): void {
    this.#only = null;
    this.#block = noBytes;
    this.#length = 0;
  }

  #copy(piece: Buffer, at: number, neededBytes: number): void {
    if (neededBytes > this.#block.length) {
      const wantedBytes = Math.min(Math.max(firstBlockBytes, 2 * this.#block.length), this.#maxBytes);
      const block = Buffer.allocUnsafeSlow(Math.max(wantedBytes, neededBytes));
      this.#block.copy(block, 0, 0, at);
      this.#block = block;
    }
    piece.copy(this.#block, at);
  }
}
