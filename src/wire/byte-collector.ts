/** The first block; each further one is at least twice as large. */
const firstBlockBytes = 4_096;

/**
 * The bytes of a body as they arrive, copied into one growing block: a piece that is kept as it came costs some 400 bytes of memory
 * however small it is, and pins the block of the network that it is part of.
 */
export class ByteCollector {
  readonly #maxBytes: number;
  /** A body that comes as one piece is that piece. */
  #only: Buffer | null = null;
  #block = Buffer.alloc(0);
  #length = 0;

  /** No block is larger than `mostBytes`, unless that many bytes come: the declared length of the body, or the largest that is accepted. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Bytes of memory that are held for the body. */
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

  /** All of them, once; they are not held here any more. */
  take(): Buffer {
    const taken = this.#only ?? this.#block.subarray(0, this.#length);
    this.clear();
    return taken;
  }

  /** Lets go of them. */
  clear(): void {
    this.#only = null;
    this.#block = Buffer.alloc(0);
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
