import type { Candidate } from '../catalogue/model.ts';
import type { Dialect, WrittenAsk } from '../dialects/dialect.ts';
import type { Log } from '../log/log.ts';
import type { Lanes } from '../slots/contract.ts';
import type { Clock } from '../time/clock.ts';
import type { UpstreamRequest } from '../upstreams/call.ts';
import { clientMessage } from '../upstreams/client-message.ts';
import type { Provider } from '../upstreams/providers.ts';
import type { AttemptContext } from './outcome.ts';

/** How candidates are reached. */
export interface Callers {
  /** Null: it was taken out of the configuration. */
  readonly provider: (slug: string) => Provider | null;
  /** Connections to an engine of ours at this base URL. */
  readonly engine: (baseUrl: string) => { request(written: WrittenAsk): UpstreamRequest };
  readonly slots: Lanes;
  readonly engineDialect: Dialect;
  readonly clock: Clock;
  readonly log: Log;
  readonly streamIdleTimeoutMs: number;
}

/** Someone who can be called right now, and how to let go of him. */
export interface Line {
  readonly dialect: Dialect;
  readonly model: string;
  /** How long it may take to the first byte of a response; null: the configuration does not say. */
  readonly firstByteMs: number | null;
  readonly lost: AbortSignal | null;
  request(written: WrittenAsk): UpstreamRequest;
  /** What he said without our credentials, for the log. */
  conceal(words: string): string;
  /** The same for the client; null when there is nothing to pass on. */
  clientMessage(words: string): string | null;
  release(outcome: 'served' | 'unreachable'): void;
  /** Something came from him. Cheap. */
  heard(): void;
}

/** A provider takes as many calls as there are. */
class ProviderLine implements Line {
  readonly kind = 'line';
  readonly model: string;
  readonly lost = null;
  readonly #provider: Provider;
  readonly #letGo: () => void;

  constructor(provider: Provider, model: string) {
    this.#provider = provider;
    this.#letGo = provider.use();
    this.model = model;
  }

  get dialect(): Dialect {
    return this.#provider.dialect;
  }

  get firstByteMs(): number | null {
    return this.#provider.firstByteTimeoutMs;
  }

  request(written: WrittenAsk): UpstreamRequest {
    return this.#provider.request(written);
  }

  conceal(words: string): string {
    return this.#provider.conceal(words);
  }

  clientMessage(words: string): string | null {
    return this.#provider.clientMessage(words);
  }

  release(): void {
    this.#letGo();
  }

  heard(): void {}
}

/**
 * A line to a candidate: at once to a provider, unless that is gone, from the slot's queue to an engine of ours, which may be loading
 * instead. Whoever has it releases it once.
 */
export async function openLine(
  callers: Callers,
  candidate: Candidate,
  context: AttemptContext,
): Promise<
  | ({ readonly kind: 'line' } & Line)
  | { readonly kind: 'loading'; readonly retryAfterSec: number }
  | { readonly kind: 'gone' }
> {
  if (candidate.via.kind === 'provider') {
    const provider = callers.provider(candidate.via.provider);
    return provider === null ? { kind: 'gone' } : new ProviderLine(provider, candidate.upstreamModel);
  }
  const lease = await callers.slots.acquire(candidate.via.slot, {
    accountId: context.accountId,
    signal: context.signal,
  });
  if (lease.kind === 'loading') return lease;
  return {
    kind: 'line',
    dialect: callers.engineDialect,
    model: lease.model ?? candidate.upstreamModel,
    firstByteMs: null,
    lost: lease.lost,
    request: (written) => callers.engine(lease.baseUrl).request(written),
    conceal: (words) => words,
    clientMessage: (words) => clientMessage(words, []),
    release: (outcome) => lease.release(outcome),
    heard: () => lease.heard(),
  };
}
