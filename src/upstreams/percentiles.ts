import { BucketRing } from './bucket-ring.ts';

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
