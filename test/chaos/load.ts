import { Agent } from 'node:http';
import type { Payer } from '../harness/payer.ts';
import { request, type Sight } from './client.ts';
import { drawOrder, randomFrom } from './orders.ts';

/** Clients that send requests one after the other. */
export interface Load {
  /** What they saw so far. */
  readonly sights: readonly Sight[];
  /** Requests that have been sent and not ended. */
  readonly inFlight: number;
  /** No client begins another request; resolves when the last has ended. */
  stop(): Promise<void>;
  /** The same, without waiting. */
  cease(): void;
}

/**
 * Starts clients with mixed orders; `name` begins the tags of their requests, and must be unique.
 */
export function startLoad(
  url: string,
  payers: readonly Payer[],
  options: {
    readonly clients: number;
    readonly seed: number;
    readonly name: string;
    readonly mayWait?: boolean;
    /** Between the requests of a client; 0 by default. */
    readonly pauseMs?: number;
  },
): Load {
  const agent = new Agent({ keepAlive: true });
  const sights: Sight[] = [];
  let inFlight = 0;
  let ceased = false;
  const { pauseMs = 0 } = options;
  const client = async (number: number): Promise<void> => {
    const random = randomFrom(options.seed + number * 7919);
    for (let n = 1; !ceased; n += 1) {
      const order = drawOrder(random, payers, `${options.name}-c${number}-${n}`, options.mayWait ?? false);
      inFlight += 1;
      const sight = await request(url, order, agent);
      inFlight -= 1;
      sights.push(sight);
      // A server that is down refuses at once: it is not requested a thousand times meanwhile.
      const isDown = sight.status === null && !sight.leftByItself;
      if (isDown || pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, isDown ? 20 : pauseMs));
    }
  };
  const clients = Array.from({ length: options.clients }, (_, number) => client(number));
  return {
    sights,
    get inFlight() {
      return inFlight;
    },
    cease: () => {
      ceased = true;
    },
    async stop() {
      ceased = true;
      await Promise.all(clients);
      agent.destroy();
    },
  };
}
