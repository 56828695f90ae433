import type { SlotAcquirer, SlotLease } from '../../slots/contract.ts';
import type { Clock } from '../../time/clock.ts';
import type { GrantedLane, LaneOrder, ParentChannel, WorkerChannel } from './messages.ts';

/** The shortest interval between two keep-alive messages of a lease. */
const touchEveryMs = 1_000;

/**
 * The slots of the parent for a worker: one process owns the engines and the queues. A lane belongs to the worker until it sends
 * `release` or ends.
 */
export function remoteSlots(link: ParentChannel, clock: Clock): SlotAcquirer {
  /** By order id, from the moment of the request: the loss of an engine may arrive in the turn of the response. */
  const held = new Map<number, AbortController>();
  let orders = 0;
  link.handle({ 'slots.lost': (id) => held.get(id)?.abort(new Error('the engine was lost')) });

  const lease = (
    id: number,
    granted: GrantedLane & { kind: 'lease' },
    { signal: lost }: AbortController,
    signal: AbortSignal,
  ): SlotLease => {
    const release: SlotLease['release'] = (outcome) => {
      signal.removeEventListener('abort', left);
      if (held.delete(id)) link.notify('slots.release', { id, outcome });
    };
    const left = (): void => release();
    signal.addEventListener('abort', left, { once: true });
    let touchedMs = Number.NEGATIVE_INFINITY;
    const touch = (): void => {
      const nowMs = clock.monotonic();
      if (nowMs - touchedMs < touchEveryMs) return;
      touchedMs = nowMs;
      link.notify('slots.touch', id);
    };
    return { ...granted, cancelReason: lost, release, touch };
  };

  return {
    async acquire(name, { accountId, signal, coldWaitMs = null }) {
      signal.throwIfAborted();
      orders += 1;
      const order: LaneOrder = { id: orders, name, accountId, coldWaitMs };
      const lost = new AbortController();
      held.set(order.id, lost);
      const { promise: gone, reject } = Promise.withResolvers<never>();
      const leave = (): void => {
        link.notify('slots.leave', order.id);
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      try {
        const granted = await Promise.race([link.request('slots.acquire', order), gone]);
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

/** The parent's side for one worker. Returns a function that releases everything the worker holds or waits for. */
export function serveSlots(lanes: SlotAcquirer, link: WorkerChannel): () => void {
  const orders = new Map<number, { readonly gone: AbortController; lease: SlotLease | null }>();
  const end = (id: number): void => {
    const order = orders.get(id);
    orders.delete(id);
    order?.gone.abort(new Error('the worker cancelled the request'));
  };
  link.handle({
    'slots.acquire': async ({ id, name, accountId, coldWaitMs }) => {
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
        const { kind, baseUrl, model, cancelReason: lost } = answer;
        // The reply of this turn is sent first, so the worker knows the lease before its loss arrives.
        const notify = (): void => void setImmediate(() => link.notify('slots.lost', id));
        if (lost.aborted) notify();
        else lost.addEventListener('abort', notify, { once: true });
        return { kind, baseUrl, model };
      } catch (error) {
        orders.delete(id);
        throw error;
      }
    },
    'slots.release': ({ id, outcome }) => {
      const lease = orders.get(id)?.lease;
      orders.delete(id);
      lease?.release(outcome);
    },
    'slots.touch': (id) => orders.get(id)?.lease?.touch(),
    'slots.leave': end,
  });
  return () => {
    for (const id of [...orders.keys()]) end(id);
  };
}
