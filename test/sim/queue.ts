import type { Reservation } from '../../src/spending/reservation.ts';
import type { SimProcess } from './process.ts';
import type { Timeline } from './time.ts';

/** A request that waits for admission. */
export interface Arrival {
  readonly process: SimProcess;
  readonly request: Reservation;
  readonly atMs: number;
  /** It waited, and was rejected or left before it was admitted. */
  hasLeft: boolean;
}

/** All requests that wait in line, at whichever node. */
export class Queue {
  readonly #timeline: Timeline;
  readonly #waiting = new Set<Arrival>();

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  arrive(process: SimProcess, request: Reservation): Arrival {
    return { process, request, atMs: this.#timeline.nowMs, hasLeft: false };
  }

  /** It waits until `waiting` is settled. */
  wait(arrival: Arrival, waiting: Promise<void>): void {
    this.#waiting.add(arrival);
    const leave = (): void => void this.#waiting.delete(arrival);
    waiting.then(leave, () => {
      arrival.hasLeft = true;
      leave();
    });
  }

  /**
   * It is counted. Its node resolves it once the lease is committed; other nodes may be granted
   * theirs before that.
   */
  admit(arrival: Arrival): void {
    this.#waiting.delete(arrival);
  }

  /**
   * Of each account the request that has waited longest, at whichever node that lives, and behind it
   * those of other nodes that arrived at most this much later: a node compares times by its own
   * reading of the database's clock.
   */
  firsts(byMs: number): ReadonlyMap<number, readonly [Arrival, ...Arrival[]]> {
    const oldest = new Map<number, Arrival>();
    for (const one of this.#waiting) {
      const { id } = one.request.account;
      const first = oldest.get(id);
      if (one.process.isAlive && (first === undefined || one.atMs < first.atMs)) oldest.set(id, one);
    }
    const firsts = new Map<number, [Arrival, ...Arrival[]]>();
    for (const [id, first] of oldest) firsts.set(id, [first]);
    for (const one of this.#waiting) {
      const group = firsts.get(one.request.account.id);
      if (group === undefined || !one.process.isAlive || one.process === group[0].process) continue;
      if (one.atMs - group[0].atMs <= byMs) group.push(one);
    }
    return firsts;
  }

  /**
   * Those that wait at another node and arrived this much earlier, for room that this request takes
   * too. One whose own key has a limit may wait for that: it does not block other keys.
   */
  *passedBy({ process, request, atMs }: Arrival, byMs: number): Iterable<Arrival> {
    for (const one of this.#waiting) {
      const { account, key } = one.request;
      const isSame =
        account.id === request.account.id && (key.limit === null || key.row.id === request.key.row.id);
      if (isSame && one.process !== process && one.process.isAlive && one.atMs + byMs < atMs) yield one;
    }
  }
}
