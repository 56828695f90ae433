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
    this.#bucketNumbers = new Float64Array(size.buckets).fill(Number.NaN);
  }

  /** The length of the ring, in milliseconds. */
  get spanMs(): number {
    return this.#bucketMs * this.#buckets;
  }

  /** Adds to a lane. Instants are monotonic milliseconds. */
  add(nowMs: number, lane: number, count = 1): void {
    const bucket = Math.floor(nowMs / this.#bucketMs);
    const index = this.#indexOf(bucket);
    const from = index * this.#lanes;
    if (this.#bucketNumbers[index] !== bucket) {
      this.#counts.fill(0, from, from + this.#lanes);
      this.#bucketNumbers[index] = bucket;
    }
    const at = from + lane;
    this.#counts[at] = (this.#counts[at] ?? 0) + count;
  }

  /** An instant may be of before the process. */
  #indexOf(bucket: number): number {
    return ((bucket % this.#buckets) + this.#buckets) % this.#buckets;
  }

  /**
   * The counts of every lane over the last `windowMs`, including the current bucket; at most the
   * span of the ring.
   */
  totals(nowMs: number, windowMs: number): Float64Array {
    const totals = new Float64Array(this.#lanes);
    const current = Math.floor(nowMs / this.#bucketMs);
    const back = Math.min(Math.ceil(windowMs / this.#bucketMs), this.#buckets);
    for (let bucket = current - back + 1; bucket <= current; bucket += 1) {
      const index = this.#indexOf(bucket);
      if (this.#bucketNumbers[index] !== bucket) continue;
      const from = index * this.#lanes;
      for (let lane = 0; lane < this.#lanes; lane += 1) {
        totals[lane] = (totals[lane] ?? 0) + (this.#counts[from + lane] ?? 0);
      }
    }
    return totals;
  }
}

/** The distribution of a measure. */
export interface Percentiles {
  readonly p50: number;
  readonly p75: number;
  readonly p90: number;
  readonly p99: number;
}

/**
 * Bins per doubling. A bin is 9 % wide and returns its middle, so a percentile is within 4.5 % of a
 * sample.
 */
const perOctave = 8;
/**
 * Values from 2^-7 (0.008) to 2^22 (over an hour of milliseconds); values outside count in the
 * nearest bin.
 */
const lowestOctave = -7;
const bins = 29 * perOctave;
const minuteMs = 60_000;

/**
 * Samples of one positive measure over the last half hour, as one histogram per minute: 28 KiB
 * whatever the traffic.
 */
export class PercentileWindow {
  readonly #ring = new BucketRing({ bucketMs: minuteMs, buckets: 30, lanes: bins });

  add(nowMs: number, value: number): void {
    this.#ring.add(nowMs, binOf(value));
  }

  /** The percentiles of the last `windowMs`, half an hour at most; null without a sample. */
  rising(nowMs: number, windowMs: number): Percentiles | null {
    return this.#percentiles(nowMs, windowMs, (rank) => rank);
  }

  /**
   * The same from the other end: the value that this percentage of the samples reaches, as
   * throughput is stated.
   */
  falling(nowMs: number, windowMs: number): Percentiles | null {
    return this.#percentiles(nowMs, windowMs, (rank, total) => total - rank + 1);
  }

  #percentiles(
    nowMs: number,
    windowMs: number,
    rankFrom: (rank: number, total: number) => number,
  ): Percentiles | null {
    const counts = this.#ring.totals(nowMs, windowMs);
    const total = counts.reduce((sum, count) => sum + count, 0);
    if (total === 0) return null;
    const at = (share: number): number => valueAt(counts, rankFrom(Math.ceil(share * total), total));
    return { p50: at(0.5), p75: at(0.75), p90: at(0.9), p99: at(0.99) };
  }
}

function binOf(value: number): number {
  const bin = Math.floor((Math.log2(value) - lowestOctave) * perOctave);
  return bin >= 0 ? Math.min(bin, bins - 1) : 0;
}

/** The middle of the bin that contains the sample of this rank, to three digits. */
function valueAt(counts: Float64Array, rank: number): number {
  let seen = 0;
  const bin = counts.findIndex((count) => {
    seen += count;
    return seen >= rank;
  });
  return Number((2 ** ((bin + 0.5) / perOctave + lowestOctave)).toPrecision(3));
}
