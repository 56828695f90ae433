import type { Candidate } from '../catalogue/model.ts';
import type { LimitsConfig } from '../config/config.ts';
import type { Secret } from '../config/secret.ts';
import type { Dialect, EncodedRequest } from '../dialects/dialect.ts';
import type { Log } from '../log/log.ts';
import type { SlotAcquirer, SlotFailed } from '../slots/contract.ts';
import type { Clock } from '../time/clock.ts';
import type { UpstreamRequest } from '../upstreams/call.ts';
import { clientMessage } from '../upstreams/client-message.ts';
import type { Provider } from '../upstreams/providers.ts';
import type { CallOrigin } from './outcome.ts';

/** Resolves candidates to providers and slots. */
export interface TargetResolver {
  /** Null: it was removed from the configuration. */
  readonly provider: (slug: string) => Provider | null;
  /** Connections to the engine of a slot at this base URL. */
  readonly engine: (baseUrl: string) => { request(encoded: EncodedRequest): UpstreamRequest };
  readonly slots: SlotAcquirer;
  /** The API key of a slot's engine; null: none. */
  readonly slotKey: (slot: string) => Secret | null;
  readonly engineDialect: Dialect;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: () => LimitsConfig;
}

/** A provider or engine that a call may be sent to now; `release` ends its use. */
export interface UpstreamTarget {
  readonly dialect: Dialect;
  readonly model: string;
  /** Its configured time limit to the first byte of a response; null: none. */
  readonly firstByteMs: number | null;
  /** Aborts when the engine is lost; null for a provider. */
  readonly cancelReason: AbortSignal | null;
  request(encoded: EncodedRequest): UpstreamRequest;
  /** Its message without our credentials, for the log. */
  conceal(message: string): string;
  /** The same for the client; null when none of it may be passed on. */
  clientMessage(message: string): string | null;
  release(outcome: 'served' | 'unreachable'): void;
  /** Records that it sent something. Cheap. */
  touch(): void;
}

/** A provider takes any number of calls. */
class ProviderTarget implements UpstreamTarget {
  readonly kind = 'acquired';
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

  request(encoded: EncodedRequest): UpstreamRequest {
    return this.#provider.request(encoded);
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
 * Acquires a provider at once, an engine through the queue of its slot. What was acquired is
 * released once.
 */
export function acquireTarget(
  targets: TargetResolver,
  candidate: Candidate,
  caller: CallOrigin,
): AcquiredTarget | Promise<AcquiredTarget> {
  const { via } = candidate;
  if (via.kind === 'slot') return acquireSlot(targets, candidate, via.slot, caller);
  const provider = targets.provider(via.provider);
  return provider === null ? { kind: 'removed' } : new ProviderTarget(provider, candidate.upstreamModel);
}

/** What a call is sent to, or why it is not sent. */
type AcquiredTarget =
  | ({ readonly kind: 'acquired' } & UpstreamTarget)
  | { readonly kind: 'loading'; readonly retryAfterSec: number }
  | SlotFailed
  | { readonly kind: 'removed' };

async function acquireSlot(
  targets: TargetResolver,
  candidate: Candidate,
  slot: string,
  { accountId, exchange, trace, attempts }: CallOrigin,
): Promise<AcquiredTarget> {
  const lease = await targets.slots.acquire(slot, { accountId, signal: exchange.signal });
  if (lease.kind !== 'lease') return lease;
  const key = targets.slotKey(slot)?.reveal() ?? null;
  // Only our own engines continue a trace: its ids are not for a provider.
  const addressed = (encoded: EncodedRequest): EncodedRequest => {
    if (trace === null && key === null) return encoded;
    const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
    return {
      ...encoded,
      headers: { ...encoded.headers, ...authorization, ...trace?.headersOf(attempts.length) },
    };
  };
  const conceal = (message: string): string => (key === null ? message : message.replaceAll(key, '***'));
  return {
    kind: 'acquired',
    dialect: targets.engineDialect,
    model: lease.model ?? candidate.upstreamModel,
    firstByteMs: null,
    cancelReason: lease.cancelReason,
    request: (encoded) => targets.engine(lease.baseUrl).request(addressed(encoded)),
    conceal,
    clientMessage: (message) => clientMessage(conceal(message), []),
    release: (outcome) => lease.release(outcome),
    touch: () => lease.touch(),
  };
}
