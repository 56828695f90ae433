/**
 * Receives what a source has, once for each read. Calls, not promises: a chunk of a slow stream passes
 * three sources in one turn, and each promise on its way costs as much as decoding it.
 */
export interface Receiver<T> {
  /** What has arrived since the last read; null at the end. A throw comes back as `fail`. */
  take(arrived: T | null): void;
  /** The source broke off; everything before has been taken. */
  fail(error: unknown): void;
}

/** A source of pieces. It has one reader at a time. */
export interface Source<T> {
  /** Calls the receiver once, now or later. */
  read(receiver: Receiver<T>): void;
}

/** The next of a source, for a reader that may wait; null at the end. Rejects when it broke off. */
export function nextOf<T>(source: Source<T>): Promise<T | null> {
  return new Promise((take, fail) => source.read({ take, fail }));
}
