import type { Reservation } from '../../src/accounts/reservation.ts';
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

  /** Of each account and each node that lives the request that has waited longest. */
  firsts(): readonly Arrival[] {
    const firsts = new Map<string, Arrival>();
    for (const one of this.#waiting) {
      const name = `${one.request.account.id} at ${one.process.name}`;
      if (one.process.isAlive && one.atMs < (firsts.get(name)?.atMs ?? Number.POSITIVE_INFINITY))
        firsts.set(name, one);
    }
    return [...firsts.values()];
  }

  /**
   * Those that wait at the same node and arrived earlier, for room that this request takes too. One
   * whose own key has a limit may wait for that: it does not block other keys.
   */
  *passedBy({ process, request, atMs }: Arrival): Iterable<Arrival> {
    for (const one of this.#waiting) {
      const { account, key } = one.request;
      const isSame =
        account.id === request.account.id && (key.limit === null || key.row.id === request.key.row.id);
      if (isSame && one.process === process && one.atMs < atMs) yield one;
    }
  }
}
