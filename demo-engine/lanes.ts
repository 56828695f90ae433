/** A slot for one generation; `leave` passes it to the next in the queue. Idempotent. */
export interface Lane {
  leave(): void;
}

/** A fixed number of lanes with one queue, first come, first served. */
export interface Lanes {
  /**
   * Waits for a lane. Leaves the queue and rejects with the signal's reason when `signal` aborts
   * first.
   */
  enter(signal: AbortSignal): Promise<Lane>;
  /** The number of lanes in use. */
  readonly busy: number;
}

/** `count` free lanes. */
export function createLanes(count: number): Lanes {
  const queue = new Set<() => void>();
  let busy = 0;
  const laneOf = (): Lane => {
    let left = false;
    return {
      leave() {
        if (left) return;
        left = true;
        const [next] = queue;
        // The lane is passed on without becoming free, so no request can overtake the queue.
        if (next === undefined) busy--;
        else next();
      },
    };
  };
  return {
    get busy() {
      return busy;
    },
    enter(signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        if (busy < count) {
          busy++;
          return resolve(laneOf());
        }
        const giveUp = (): void => {
          queue.delete(take);
          reject(signal.reason);
        };
        const take = (): void => {
          queue.delete(take);
          signal.removeEventListener('abort', giveUp);
          resolve(laneOf());
        };
        queue.add(take);
        signal.addEventListener('abort', giveUp, { once: true });
      });
    },
  };
}
