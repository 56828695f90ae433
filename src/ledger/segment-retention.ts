import { defaultKeepSettledMs } from '../config/config.ts';
import type { Replication } from '../store/replication.ts';

/** A standby may need so long to connect again after the server restarted: until then nothing is known of standbys. */
const defaultGraceMs = 30_000;
/** Time in which the server was not seen does not count: nobody could have looked how far its standbys are. */
const maxStepMs = 5_000;

/** What is to become of kept segments, by their numbers. */
export interface Verdict {
  /** No failover can lose what they hold. */
  readonly covered: ReadonlySet<number>;
  /** They were kept for as long as they may be. */
  readonly expired: ReadonlySet<number>;
}

interface Mark {
  /** Everything that the segment held was committed before this position; null: not known yet. */
  position: bigint | null;
  readonly sinceMs: number;
}

/** Decides how long settled segments are kept. It only reckons: it is told what there is and returns what may go. */
export class Retention {
  readonly #keepMs: number | null;
  readonly #graceMs: number;
  readonly #marks = new Map<number, Mark>();
  /** The time in which the server was seen. */
  #seenMs = 0;
  /** How many standbys were seen at once lately, and when: each more than all that follow. */
  #counts: readonly { readonly standbys: number; readonly atMs: number }[] = [];
  #isVisible = true;

  /**
   * `keepMs`: how long a segment is kept at most, also where no standby is seen; null: `defaultKeepSettledMs` where there is one, and not at all
   * elsewhere. `graceMs`: how long it takes until no standby in sight means that there is none.
   */
  constructor({ keepMs, graceMs = defaultGraceMs }: { keepMs: number | null; graceMs?: number }) {
    this.#keepMs = keepMs;
    this.#graceMs = graceMs;
  }

  /** Whether there is a standby, and every one lately seen shows how far it is: it may be waited for. */
  get isFollowed(): boolean {
    return this.#maxStandbys > 0 && this.#isVisible;
  }

  /**
   * Judges the segments that had been settled and kept when the server was asked. `replication` is its answer, null when it does not
   * report such things; `elapsedMs` the time since the last one.
   */
  judge(kept: readonly number[], replication: Replication | null, elapsedMs: number): Verdict {
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
