import type { RateGate, RateLimit } from '../../http/rate-limit.ts';
import type { IpcChannel } from './ipc.ts';

/**
 * The parent's rate limit, as a worker asks it. One bucket for a client over all workers is exact only where it is one, so every
 * request asks; those of one turn of the event loop ask together.
 */
export function remoteRateLimit(link: IpcChannel): RateGate {
  let asking: { readonly client: string; readonly answer: PromiseWithResolvers<number | null> }[] = [];
  const ask = async (): Promise<void> => {
    const asked = asking;
    asking = [];
    try {
      const clients = asked.map(({ client }) => client);
      const waits = (await link.request('rate.take', clients)) as readonly (number | null)[];
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

/** The parent's side: takes the tokens of one message in the order of its clients. */
export function serveRateLimit(rate: RateLimit, link: IpcChannel): void {
  link.handle({ 'rate.take': (clients: readonly string[]) => clients.map((client) => rate.take(client)) });
}
