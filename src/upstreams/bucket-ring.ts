/**
 * Counts over a rolling time window, in a fixed number of buckets. Old buckets are overwritten, so
 * nothing is cleaned up and adding takes constant time. A window is as exact as a bucket is long.
 */
export class BucketRing {
  readonly #bucketMs: number;
  readonly #buckets: number;
  readonly #lanes: number;
  readonly #counts: Uint32Array;
  /** The bucket number stored in each slot of the ring. */
  readonly #bucketNumbers: Float64Array;

  /** `buckets` spans of `bucketMs`, each with one count per lane. */
  constructor(size: { readonly bucketMs: number; readonly buckets: number; readonly lanes: number }) {
    this.#bucketMs = size.bucketMs;
    this.#buckets = size.buckets;
    this.#lanes = size.lanes;
    this.#counts = new Uint32Array(size.buckets * size.lanes);
    this.#bucketNumbers = new Float64Array(size.buckets).fill(-1);
  }

  /** The length of the ring, in milliseconds. */
  get spanMs(): number {
    return this.#bucketMs * this.#buckets;
  }

  /** Adds one to a lane. Instants are monotonic milliseconds. */
  add(nowMs: number, lane: number): void {
    const bucket = Math.floor(nowMs / this.#bucketMs);
    const index = bucket % this.#buckets;
    const from = index * this.#lanes;
    if (this.#bucketNumbers[index] !== bucket) {
      this.#counts.fill(0, from, from + this.#lanes);
      this.#bucketNumbers[index] = bucket;
    }
    const at = from + lane;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  /**
   * The counts of every lane over the last `windowMs`, including the current bucket; at most the
   * span of the ring.
   */
  totals(nowMs: number, windowMs: number): Float64Array {
    const totals = new Float64Array(this.#lanes);
    const current = Math.floor(nowMs / this.#bucketMs);
    const back = Math.min(Math.ceil(windowMs / this.#bucketMs), this.#buckets);
    for (let bucket = Math.max(0, current - back + 1); bucket <= current; bucket += 1) {
      const index = bucket % this.#buckets;
      if (this.#bucketNumbers[index] !== bucket) continue;
      const from = index * this.#lanes;
      for (let lane = 0; lane < this.#lanes; lane += 1) {
        totals[lane] = (totals[lane] ?? 0) + (this.#counts[from + lane] ?? 0);
      }
    }
    return totals;
  }
}
