import { defaultKeepSettledMs } from '../config/defaults.ts';
import type { Replication } from '../store/replication.ts';

/**
 * A standby may need this long to connect again after the server restarted: until then standbys are
 * unknown.
 */
const defaultGraceMs = 30_000;
/** Time in which the server was not seen does not count: its standbys could not be read. */
const maxStepMs = 5_000;

/** What happens to kept segments, by their numbers. */
export interface Verdict {
  /** No failover can lose what they hold. */
  readonly covered: ReadonlySet<number>;
  /** They were kept for the maximum time. */
  readonly expired: ReadonlySet<number>;
}

interface Mark {
  /** Everything in the segment was committed before this position; null: not known yet. */
  position: bigint | null;
  readonly sinceMs: number;
}

/**
 * Decides how long settled segments are kept. It only computes: state comes in, segments to delete
 * come out.
 */
export class Retention {
  readonly #keepMs: number | null;
  readonly #graceMs: number;
  readonly #marks = new Map<number, Mark>();
  /** The time in which the server was seen. */
  #seenMs = 0;
  /** How many standbys were seen at once lately, and when: each count is above all that follow. */
  #counts: readonly { readonly standbys: number; readonly atMs: number }[] = [];
  #isVisible = true;

  /**
   * `keepMs`: the longest time to keep a segment, also where no standby is seen; null:
   * `defaultKeepSettledMs` where there is a standby, and not at all elsewhere. `graceMs`: after
   * this long without a standby there is none.
   */
  constructor({ keepMs, graceMs = defaultGraceMs }: { keepMs: number | null; graceMs?: number }) {
    this.#keepMs = keepMs;
    this.#graceMs = graceMs;
  }

  /**
   * Whether there is a standby, and every one that was seen lately reports how far it is: then it
   * is worth waiting for it.
   */
  get isFollowed(): boolean {
    return this.#maxStandbys > 0 && this.#isVisible;
  }

  /**
   * Judges the segments that had been settled and kept when the server was queried. `replication`
   * is the result, null when the server does not report it; `elapsedMs` the time since the last
   * one.
   */
  classify(kept: readonly number[], replication: Replication | null, elapsedMs: number): Verdict {
    this.#seenMs += Math.min(elapsedMs, maxStepMs);
    const standbys = replication?.standbys ?? [];
    this.#count(standbys.length);
    this.#isVisible = standbys.length >= this.#maxStandbys && !standbys.includes(null);
    const position = replication?.position ?? null;
    const covered = new Set<number>();
    const expired = new Set<number>();
    for (const number of kept) {
      const mark = this.#marks.get(number) ?? { position: null, sinceMs: this.#seenMs };
      mark.position ??= position;
      this.#marks.set(number, mark);
      if (this.#isCovered(mark, standbys)) covered.add(number);
      else if (this.#seenMs - mark.sinceMs >= this.#limitMs) expired.add(number);
    }
    const known = new Set(kept);
    for (const number of this.#marks.keys())
      if (!known.has(number) || covered.has(number)) this.#marks.delete(number);
    return { covered, expired };
  }

  get #maxStandbys(): number {
    return this.#counts[0]?.standbys ?? 0;
  }

  get #limitMs(): number {
    return this.#keepMs ?? defaultKeepSettledMs;
  }

  #isCovered({ position }: Mark, standbys: readonly (bigint | null)[]): boolean {
    if (this.#keepMs === 0) return true;
    if (this.#maxStandbys === 0) return this.#keepMs === null && this.#seenMs >= this.#graceMs;
    if (position === null || standbys.length < this.#maxStandbys) return false;
    return standbys.every((flushed) => flushed !== null && flushed >= position);
  }

  #count(standbys: number): void {
    const atMs = this.#seenMs;
    const higher = this.#counts.filter((one) => one.standbys > standbys && atMs - one.atMs < this.#limitMs);
    this.#counts = [...higher, { standbys, atMs }];
  }
}
