import type { RateGate, RateLimit } from '../../http/rate-limit.ts';
import type { ParentChannel, WorkerChannel } from './messages.ts';

/**
 * The parent's rate limit for a worker. One bucket per client over all workers is exact only in one process, so every request asks
 * the parent; requests of one turn of the event loop are batched.
 */
export function remoteRateLimit(link: ParentChannel): RateGate {
  let asking: { readonly client: string; readonly answer: PromiseWithResolvers<number | null> }[] = [];
  const ask = async (): Promise<void> => {
    const asked = asking;
    asking = [];
    try {
      const clients = asked.map(({ client }) => client);
      const waits = await link.request('rate.take', clients);
      for (const [at, { answer }] of asked.entries()) answer.resolve(waits[at] ?? null);
    } catch (error) {
      for (const { answer } of asked) answer.reject(error);
    }
  };
  return {
    take(client) {
      const answer = Promise.withResolvers<number | null>();
      if (asking.push({ client, answer }) === 1) setImmediate(() => void ask());
      return answer.promise;
    },
  };
}

/** The parent's side: takes the tokens of one batch in order. */
export function serveRateLimit(rate: RateLimit, link: WorkerChannel): void {
  link.handle({ 'rate.take': (clients) => clients.map((client) => rate.take(client)) });
}
