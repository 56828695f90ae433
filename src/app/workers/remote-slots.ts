import type { Lanes, SlotLease, SlotLoading } from '../../slots/contract.ts';
import type { Clock } from '../../time/clock.ts';
import type { Link } from './ipc.ts';

/** Signs of life are passed on this often at most: none says more than the last one. */
const heardEveryMs = 1_000;

interface Order {
  readonly id: number;
  readonly name: string;
  readonly accountId: number;
  readonly coldWaitMs: number | null;
}

/** A lease as it crosses the link: the parent keeps the lane under the order's id. */
type Granted = Pick<SlotLease, 'kind' | 'baseUrl' | 'model'> | SlotLoading;

/**
 * The slots of the parent, as a worker reaches them: an engine has one owner, who also keeps the order of those who wait. The lane
 * belongs to the worker until it says `release`, or ends.
 */
export function lanesOfParent(link: Link, clock: Clock): Lanes {
  /** By order, from the moment it is sent: the news that an engine is lost may be taken in the turn of the answer. */
  const held = new Map<number, AbortController>();
  let orders = 0;
  link.answer({ 'slots.lost': (id: number) => held.get(id)?.abort(new Error('the engine was lost')) });

  const lease = (
    id: number,
    granted: Granted & { kind: 'lease' },
    { signal: lost }: AbortController,
    signal: AbortSignal,
  ): SlotLease => {
    const release: SlotLease['release'] = (outcome) => {
      signal.removeEventListener('abort', left);
      if (held.delete(id)) link.tell('slots.release', { id, outcome });
    };
    const left = (): void => release();
    signal.addEventListener('abort', left, { once: true });
    let heardMs = Number.NEGATIVE_INFINITY;
    const heard = (): void => {
      const nowMs = clock.monotonic();
      if (nowMs - heardMs < heardEveryMs) return;
      heardMs = nowMs;
      link.tell('slots.heard', id);
    };
    return { ...granted, lost, release, heard };
  };

  return {
    async acquire(name, { accountId, signal, coldWaitMs = null }) {
      signal.throwIfAborted();
      orders += 1;
      const order: Order = { id: orders, name, accountId, coldWaitMs };
      const lost = new AbortController();
      held.set(order.id, lost);
      const { promise: gone, reject } = Promise.withResolvers<never>();
      const leave = (): void => {
        link.tell('slots.leave', order.id);
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      try {
        const granted = (await Promise.race([link.ask('slots.acquire', order), gone])) as Granted;
        if (granted.kind === 'lease') return lease(order.id, granted, lost, signal);
        held.delete(order.id);
        return granted;
      } catch (error) {
        held.delete(order.id);
        throw error;
      } finally {
        signal.removeEventListener('abort', leave);
      }
    },
  };
}

/** The parent's side for one worker. Returns what gives everything back that the worker holds or waits for. */
export function lendLanes(lanes: Lanes, link: Link): () => void {
  const orders = new Map<number, { readonly gone: AbortController; lease: SlotLease | null }>();
  const end = (id: number): void => {
    const order = orders.get(id);
    orders.delete(id);
    order?.gone.abort(new Error('the worker gave it up'));
  };
  link.answer({
    'slots.acquire': async ({ id, name, accountId, coldWaitMs }: Order): Promise<Granted> => {
      const gone = new AbortController();
      const order: { readonly gone: AbortController; lease: SlotLease | null } = { gone, lease: null };
      orders.set(id, order);
      try {
        const answer = await lanes.acquire(name, {
          accountId,
          signal: gone.signal,
          ...(coldWaitMs === null ? {} : { coldWaitMs }),
        });
        if (answer.kind === 'loading') {
          orders.delete(id);
          return answer;
        }
        order.lease = answer;
        const { kind, baseUrl, model, lost } = answer;
        // The reply of this turn goes first, so the worker knows the lease before it hears that it is lost.
        const tell = (): void => void setImmediate(() => link.tell('slots.lost', id));
        if (lost.aborted) tell();
        else lost.addEventListener('abort', tell, { once: true });
        return { kind, baseUrl, model };
      } catch (error) {
        orders.delete(id);
        throw error;
      }
    },
    'slots.release': ({ id, outcome }: { id: number; outcome?: 'served' | 'unreachable' }) => {
      const lease = orders.get(id)?.lease;
      orders.delete(id);
      lease?.release(outcome);
    },
    'slots.heard': (id: number) => orders.get(id)?.lease?.heard(),
    'slots.leave': end,
  });
  return () => {
    for (const id of [...orders.keys()]) end(id);
  };
}
