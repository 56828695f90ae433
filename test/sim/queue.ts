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

  /** Of each account the request that has waited longest, at whichever node that lives. */
  firsts(): ReadonlyMap<number, Arrival> {
    const firsts = new Map<number, Arrival>();
    for (const one of this.#waiting) {
      const { id } = one.request.account;
      const first = firsts.get(id);
      if (one.process.isAlive && (first === undefined || one.atMs < first.atMs)) firsts.set(id, one);
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
