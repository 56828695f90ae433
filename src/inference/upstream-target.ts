import type { Candidate } from '../catalogue/model.ts';
import type { Dialect, EncodedRequest } from '../dialects/dialect.ts';
import type { Log } from '../log/log.ts';
import type { SlotAcquirer } from '../slots/contract.ts';
import type { Clock } from '../time/clock.ts';
import type { UpstreamRequest } from '../upstreams/call.ts';
import { clientMessage } from '../upstreams/client-message.ts';
import type { Provider } from '../upstreams/providers.ts';
import type { AttemptContext } from './outcome.ts';

/** How candidates are reached. */
export interface TargetResolver {
  /** Null: it was taken out of the configuration. */
  readonly provider: (slug: string) => Provider | null;
  /** Connections to an engine of ours at this base URL. */
  readonly engine: (baseUrl: string) => { request(written: EncodedRequest): UpstreamRequest };
  readonly slots: SlotAcquirer;
  readonly engineDialect: Dialect;
  readonly clock: Clock;
  readonly log: Log;
  readonly streamIdleTimeoutMs: number;
}

/** Someone who can be called right now, and how to let go of him. */
export interface UpstreamTarget {
  readonly dialect: Dialect;
  readonly model: string;
  /** How long it may take to the first byte of a response; null: the configuration does not say. */
  readonly firstByteMs: number | null;
  readonly cancelReason: AbortSignal | null;
  request(written: EncodedRequest): UpstreamRequest;
  /** What he said without our credentials, for the log. */
  conceal(message: string): string;
  /** The same for the client; null when there is nothing to pass on. */
  clientMessage(message: string): string | null;
  release(outcome: 'served' | 'unreachable'): void;
  /** Something came from him. Cheap. */
  touch(): void;
}

/** A provider takes as many calls as there are. */
class ProviderTarget implements UpstreamTarget {
  readonly kind = 'line';
  readonly model: string;
  readonly cancelReason = null;
  readonly #provider: Provider;
  readonly #releaseConnection: () => void;

  constructor(provider: Provider, model: string) {
    this.#provider = provider;
    this.#releaseConnection = provider.use();
    this.model = model;
  }

  get dialect(): Dialect {
    return this.#provider.dialect;
  }

  get firstByteMs(): number | null {
    return this.#provider.firstByteTimeoutMs;
  }

  request(written: EncodedRequest): UpstreamRequest {
    return this.#provider.request(written);
  }

  conceal(message: string): string {
    return this.#provider.conceal(message);
  }

  clientMessage(message: string): string | null {
    return this.#provider.clientMessage(message);
  }

  release(): void {
    this.#releaseConnection();
  }

  touch(): void {}
}

/**
 * A line to a candidate: at once to a provider, unless that is gone, from the slot's queue to an engine of ours, which may be loading
 * instead. Whoever has it releases it once.
 */
export async function acquireTarget(
  targets: TargetResolver,
  candidate: Candidate,
  context: AttemptContext,
): Promise<
  | ({ readonly kind: 'line' } & UpstreamTarget)
  | { readonly kind: 'loading'; readonly retryAfterSec: number }
  | { readonly kind: 'gone' }
> {
  if (candidate.via.kind === 'provider') {
    const provider = targets.provider(candidate.via.provider);
    return provider === null ? { kind: 'gone' } : new ProviderTarget(provider, candidate.upstreamModel);
  }
  const lease = await targets.slots.acquire(candidate.via.slot, {
    accountId: context.accountId,
    signal: context.signal,
  });
  if (lease.kind === 'loading') return lease;
  return {
    kind: 'line',
    dialect: targets.engineDialect,
    model: lease.model ?? candidate.upstreamModel,
    firstByteMs: null,
    cancelReason: lease.cancelReason,
    request: (written) => targets.engine(lease.baseUrl).request(written),
    conceal: (message) => message,
    clientMessage: (message) => clientMessage(message, []),
    release: (outcome) => lease.release(outcome),
    touch: () => lease.touch(),
  };
}
