import type { SlotReading } from '../../pages/context.ts';
import type { EngineNews, SlotAcquirer, SlotLease } from '../../slots/contract.ts';
import { type Clock, within } from '../../time/clock.ts';
import type { GrantedLane, LaneOrder, ParentChannel, WorkerChannel } from './messages.ts';

/** The shortest interval between two keep-alive messages of a lease. */
const touchEveryMs = 1_000;

/**
 * The slots of the parent for a worker: one process owns the engines and the queues. A lane belongs
 * to the worker until it sends `release` or ends.
 */
export function remoteSlots(channel: ParentChannel, clock: Clock): SlotAcquirer {
  /**
   * By order id, from the moment of the request: the loss of an engine may arrive in the turn of
   * the response.
   */
  const held = new Map<number, AbortController>();
  const listeners = new Set<(news: EngineNews) => void>();
  let orders = 0;
  channel.handle({
    'slots.lost': (id) => held.get(id)?.abort(new Error('the engine was lost')),
    'slots.news': (news) => {
      for (const listener of listeners) listener(news);
    },
  });

  const lease = (
    id: number,
    granted: GrantedLane & { kind: 'lease' },
    { signal: cancel }: AbortController,
    signal: AbortSignal,
  ): SlotLease => {
    const release: SlotLease['release'] = (outcome) => {
      signal.removeEventListener('abort', left);
      if (held.delete(id)) channel.notify('slots.release', { id, outcome });
    };
    const left = (): void => release();
    signal.addEventListener('abort', left, { once: true });
    let touchedMs = Number.NEGATIVE_INFINITY;
    const touch = (): void => {
      const nowMs = clock.monotonic();
      if (nowMs - touchedMs < touchEveryMs) return;
      touchedMs = nowMs;
      channel.notify('slots.touch', id);
    };
    return { ...granted, cancelReason: cancel, release, touch };
  };

  return {
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async acquire(name, { accountId, signal, coldWaitMs = null }) {
      signal.throwIfAborted();
      orders += 1;
      const request: LaneOrder = { id: orders, name, accountId, coldWaitMs };
      const cancel = new AbortController();
      held.set(request.id, cancel);
      const { promise: gone, reject } = Promise.withResolvers<never>();
      const leave = (): void => {
        channel.notify('slots.leave', request.id);
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      try {
        const granted = await Promise.race([channel.request('slots.acquire', request), gone]);
        if (granted.kind === 'lease') return lease(request.id, granted, cancel, signal);
        held.delete(request.id);
        return granted;
      } catch (error) {
        held.delete(request.id);
        throw error;
      } finally {
        signal.removeEventListener('abort', leave);
      }
    },
  };
}

/**
 * The parent's side for one worker. Returns a function that releases everything the worker holds or
 * waits for.
 */
export function serveSlots(lanes: SlotAcquirer, channel: WorkerChannel): () => void {
  const orders = new Map<number, { readonly gone: AbortController; lease: SlotLease | null }>();
  const end = (id: number): void => {
    const request = orders.get(id);
    orders.delete(id);
    request?.gone.abort(new Error('the worker cancelled the request'));
  };
  channel.handle({
    'slots.acquire': async ({ id, name, accountId, coldWaitMs }) => {
      const gone = new AbortController();
      const request: { readonly gone: AbortController; lease: SlotLease | null } = { gone, lease: null };
      orders.set(id, request);
      try {
        const granted = await lanes.acquire(name, {
          accountId,
          signal: gone.signal,
          ...(coldWaitMs === null ? {} : { coldWaitMs }),
        });
        if (granted.kind !== 'lease') {
          orders.delete(id);
          return granted;
        }
        request.lease = granted;
        const { kind, baseUrl, model, cancelReason: cancel } = granted;
        // The reply of this turn is sent first, so the worker knows the lease before its loss
        // arrives.
        const notify = (): void => void setImmediate(() => channel.notify('slots.lost', id));
        if (cancel.aborted) notify();
        else cancel.addEventListener('abort', notify, { once: true });
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
  const unwatch = lanes.watch((news) => channel.notify('slots.news', news));
  return () => {
    unwatch();
    for (const id of [...orders.keys()]) end(id);
  };
}

/** How long a page waits for the parent, which responds within milliseconds when it is well. */
const responseTimeoutMs = 500;
/** Pages that read within this time share a reading. */
const sharedMs = 250;

/**
 * Reads the states of the slots, which the parent has. At most one request is under way: a parent
 * that does not respond gets no further ones, and its last reading is returned as stale.
 */
export function remoteSlotStates(
  channel: Pick<ParentChannel, 'request'>,
  clock: Clock,
): () => Promise<SlotReading | null> {
  let last: SlotReading | null = null;
  let readMs = Number.NEGATIVE_INFINITY;
  let pending: Promise<void> | null = null;
  const read = async (): Promise<void> => {
    try {
      const statuses = await channel.request('slots.statuses');
      last = { statuses, asOfMs: clock.now(), isStale: false };
      readMs = clock.monotonic();
    } finally {
      pending = null;
    }
  };
  return async () => {
    if (clock.monotonic() - readMs < sharedMs) return last;
    pending ??= read();
    const done = pending.then(
      () => true,
      () => false,
    );
    if (await within(clock, responseTimeoutMs, done, false)) return last;
    return last === null ? null : { ...last, isStale: true };
  };
}
