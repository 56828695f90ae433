import type { SlotSettings } from '../config/config.ts';

/** A lane of a ready engine, leased until `release`. */
export interface SlotLease {
  readonly kind: 'lease';
  /**
   * The base URL of the engine's OpenAI API, without a trailing slash: `http://127.0.0.1:40123/v1`.
   */
  readonly baseUrl: string;
  /** The engine's name for its model; null: any name works. */
  readonly model: string | null;
  /** Aborts when the engine is lost during the lease: it crashed, or was stopped. */
  readonly cancelReason: AbortSignal;
  /**
   * Releases the lane; any further call does nothing. The abort of `acquire`'s signal also releases
   * it. `unreachable` reports that the engine did not accept the request; an external engine is
   * then probed before the next lease.
   */
  release(outcome?: 'served' | 'unreachable'): void;
  /**
   * Reports engine activity, such as a piece of its response: the engine needs no liveness probe
   * (slots/design.md, T). Cheap.
   */
  touch(): void;
}

/**
 * No lane within the cold wait: the engine is starting or backing off. Its start is in progress or
 * will follow (spec:errors/10.2).
 */
export interface SlotLoading {
  readonly kind: 'loading';
  /**
   * Whole seconds, at least 1, from the slot's own start history: the `retry_after_sec` of
   * `model_loading`.
   */
  readonly retryAfterSec: number;
}

/** No lane: its engine failed to start or crashed so often that its circuit is open. */
export interface SlotFailed {
  readonly kind: 'failed';
  /** Why, for the log: it may contain the engine's own words. */
  readonly reason: string;
}

/** The response to a request for a lane. */
export type SlotGrant = SlotLease | SlotLoading | SlotFailed;

/** The state of a slot. */
export type SlotPhase =
  | 'COLD'
  | 'ADMITTING'
  | 'STARTING'
  | 'WARMING'
  | 'READY'
  | 'SLEEPING'
  | 'DRAINING'
  | 'STOPPING'
  | 'RECLAIMING'
  | 'BACKOFF'
  | 'FAILED';

/** One engine of a slot, as the operator sees it. */
export interface ReplicaStatus {
  /** The slot's name, and with several replicas its number: `local#2`. */
  readonly name: string;
  readonly state: SlotPhase;
  readonly reason: string;
  readonly pid: number | null;
  readonly port: number | null;
  readonly inFlight: number;
}

/** A slot as the operator sees it. */
export interface SlotStatus {
  readonly name: string;
  readonly driver: 'process' | 'external' | 'k8s-scale';
  readonly state: SlotPhase;
  /** Why the slot is in this state, for a person. */
  readonly reason: string;
  /** Null while no engine of ours exists. */
  readonly pid: number | null;
  readonly port: number | null;
  readonly inFlight: number;
  readonly queued: number;
  /** Consecutive starts that failed, and crashes, of the engine with the fewest; 0 once it is ready. */
  readonly failures: number;
  /** Starts since Naru itself started, including failed ones. */
  readonly starts: number;
  /**
   * The duration of the last successful start, also before Naru's own restart; null: there was
   * none.
   */
  readonly lastStartMs: number | null;
  /** The durations of the last successful starts, oldest first. */
  readonly startsMs: readonly number[];
  /** An operator keeps its engine: it is neither stopped when idle nor evicted for another slot. */
  readonly isPinned: boolean;
  /**
   * All its engines; `state`, `reason`, `pid` and `port` above are those of the serving one, or the
   * one closest to serving.
   */
  readonly replicas: readonly ReplicaStatus[];
}

/** The configuration of all slots. */
export interface SlotsSettings {
  readonly slots: readonly SlotSettings[];
  /** MiB of each GPU that the slots may use together; a GPU without an entry has no limit. */
  readonly gpus: ReadonlyMap<string, number>;
  /** How long a request waits for a start, unless it sets its own. */
  readonly coldWaitMs: number;
  /** The time that requests in flight have when their slot changes. */
  readonly drainMs: number;
}

/** An engine became ready; or it did not start, or crashed. */
export interface EngineNews {
  readonly slot: string;
  readonly isReady: boolean;
}

/** What requests need of the slots, in whichever process they are. */
export type SlotAcquirer = Pick<Slots, 'acquire' | 'watch'>;

/** The local engines, one per slot. Unknown names throw: the configuration was validated. */
export interface Slots {
  /**
   * Acquires a lane; always triggers the start of a cold slot. Waits without limit for a lane of a
   * ready engine, and at most `coldWaitMs` for a starting one. Rejects with the signal's reason
   * when that aborts first.
   */
  acquire(
    name: string,
    request: { readonly accountId: number; readonly signal: AbortSignal; readonly coldWaitMs?: number },
  ): Promise<SlotGrant>;
  /** Calls `listener` with all news until the function that it returns is called. */
  watch(listener: (news: EngineNews) => void): () => void;
  status(name: string): SlotStatus;
  /** All slots, in the order of the configuration. */
  statuses(): readonly SlotStatus[];
  /**
   * Starts the slot now, also from a back-off; does nothing when it is starting or ready. Does not
   * wait.
   */
  start(name: string): void;
  /**
   * Stops the engine and resolves when its process group is gone; at once when there is none.
   * Leases in flight have `drainMs` (30 s by default) to end, then they are lost. Queued and later
   * requests make the slot start again.
   */
  stop(name: string, drainMs?: number): Promise<void>;
  /**
   * Pins a slot, which starts it, or ends that. A pinned engine is neither stopped when idle nor
   * evicted; a pin ends with this process, and does not keep an engine that an operator stops.
   */
  pin(name: string, isPinned: boolean): void;
  /** MiB of a GPU in use by any process; null when it cannot be read. */
  usedGpuMb(gpu: string): Promise<number | null>;
  /**
   * Prepares new settings: new slots accept requests from then on. The function that it resolves
   * with applies the rest at once: unchanged slots continue, slots that need another engine drain
   * and restart, removed slots drain and stop. Throws when the settings are invalid; then nothing
   * changes.
   */
  prepare(settings: SlotsSettings): Promise<() => void>;
  /**
   * Responds `loading` to all waiters, drains nothing, and resolves when every process group is
   * gone.
   */
  close(): Promise<void>;
}
