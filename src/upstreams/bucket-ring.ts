/**
 * Counts over a rolling window of time, in a fixed number of buckets: what is older than the ring is overwritten, nothing is ever
 * cleaned up, and adding takes constant time. A window is as exact as a bucket is long.
 */
export class BucketRing {
  readonly #bucketMs: number;
  readonly #buckets: number;
  readonly #lanes: number;
  readonly #counts: Uint32Array;
  /** The number of the bucket of time that each place holds. */
  readonly #holds: Float64Array;

  /** Room for `buckets` spans of `bucketMs`, each with one count for every lane. */
  constructor(size: { readonly bucketMs: number; readonly buckets: number; readonly lanes: number }) {
    this.#bucketMs = size.bucketMs;
    this.#buckets = size.buckets;
    this.#lanes = size.lanes;
    this.#counts = new Uint32Array(size.buckets * size.lanes);
    this.#holds = new Float64Array(size.buckets).fill(-1);
  }

  /** How far back it remembers, in milliseconds. */
  get spanMs(): number {
    return this.#bucketMs * this.#buckets;
  }

  /** Counts one in a lane. Instants are monotonic milliseconds. */
  add(nowMs: number, lane: number): void {
    const bucket = Math.floor(nowMs / this.#bucketMs);
    const place = bucket % this.#buckets;
    const from = place * this.#lanes;
    if (this.#holds[place] !== bucket) {
      this.#counts.fill(0, from, from + this.#lanes);
      this.#holds[place] = bucket;
    }
    const at = from + lane;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  /** The counts of every lane over the last `windowMs`, the bucket of now included; at most the span of the ring. */
  totals(nowMs: number, windowMs: number): Float64Array {
    const totals = new Float64Array(this.#lanes);
    const current = Math.floor(nowMs / this.#bucketMs);
    const back = Math.min(Math.ceil(windowMs / this.#bucketMs), this.#buckets);
    for (let bucket = Math.max(0, current - back + 1); bucket <= current; bucket += 1) {
      const place = bucket % this.#buckets;
      if (this.#holds[place] !== bucket) continue;
      const from = place * this.#lanes;
      for (let lane = 0; lane < this.#lanes; lane += 1) {
        totals[lane] = (totals[lane] ?? 0) + (this.#counts[from + lane] ?? 0);
      }
    }
    return totals;
  }
}
