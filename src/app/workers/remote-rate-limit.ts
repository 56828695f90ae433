import type { RateGate, RateLimit } from '../../http/rate-limit.ts';
import type { ParentChannel, WorkerChannel } from './messages.ts';

/**
 * The parent's rate limit for a worker. One bucket per client over all workers is exact only in one
 * process, so every request queries the parent; requests of one turn of the event loop are batched.
 */
export function remoteRateLimit(channel: ParentChannel): RateGate {
  let pending: {
    readonly client: string;
    readonly max: number | null;
    readonly result: PromiseWithResolvers<number | null>;
  }[] = [];
  const sendPending = async (): Promise<void> => {
    const requests = pending;
    pending = [];
    try {
      const taken = requests.map(({ client, max }) => ({ client, max }));
      const waits = await channel.request('rate.take', taken);
      for (const [at, { result }] of requests.entries()) result.resolve(waits[at] ?? null);
    } catch (error) {
      for (const { result } of requests) result.reject(error);
    }
  };
  const take = (client: string, max: number | null): Promise<number | null> => {
    const result = Promise.withResolvers<number | null>();
    if (pending.push({ client, max, result }) === 1) setImmediate(() => void sendPending());
    return result.promise;
  };
  return { take: (client) => take(client, null), takeOfMinute: take };
}

/** The parent's side: takes the tokens of one batch in order. */
export function serveRateLimit(rate: RateLimit, channel: WorkerChannel): void {
  channel.handle({
    'rate.take': (requests) =>
      requests.map(({ client, max }) => (max === null ? rate.take(client) : rate.takeOfMinute(client, max))),
  });
}
