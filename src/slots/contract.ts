import type { SlotsSettings } from './settings.ts';

/** A lane of a ready engine, held until `release`. */
export interface SlotLease {
  readonly kind: 'lease';
  /** Where the engine's OpenAI surface begins, without a slash at the end: `http://127.0.0.1:40123/v1`. */
  readonly baseUrl: string;
  /** The name by which the engine knows its model; null: it does not care. */
  readonly model: string | null;
  /** Aborts when the engine is gone under the lease: it crashed, or was stopped. */
  readonly cancelReason: AbortSignal;
  /**
   * Gives the lane back; any further call does nothing. The abort of `acquire`'s signal releases too. `unreachable` says that the
   * engine did not take the request at all; an external engine is then probed before the next lease.
   */
  release(outcome?: 'served' | 'unreachable'): void;
  /** The engine gave a sign of life, such as a piece of its answer: it is not asked whether it lives (slots/design.md, T). Cheap. */
  touch(): void;
}

/** No lane within the cold wait: the engine is starting or backing off. Its start is under way or will follow (spec:errors/10.2). */
export interface SlotLoading {
  readonly kind: 'loading';
  /** Whole seconds, at least 1, from the slot's own start history: the `retry_after_sec` of `model_loading`. */
  readonly retryAfterSec: number;
}

/** What a slot is doing. */
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

/** One engine of a slot as the operator sees it. */
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
  /** Null while there is no engine of ours. */
  readonly pid: number | null;
  readonly port: number | null;
  readonly inFlight: number;
  readonly queued: number;
  /** Starts since Naru itself started, failed ones included. */
  readonly starts: number;
  /** How long the last successful start took, also before Naru's own restart; null: there was none. */
  readonly lastStartMs: number | null;
  /** All its engines; `state`, `reason`, `pid` and `port` above are those of the one that serves, or comes next to that. */
  readonly replicas: readonly ReplicaStatus[];
}

/** What a request needs of the slots, wherever they are. */
export type SlotAcquirer = Pick<Slots, 'acquire'>;

/** The local engines, one per slot. Unknown names throw: the configuration was validated. */
export interface Slots {
  /**
   * Asks for a lane; always triggers the start of a cold slot. Waits without limit for a lane of a ready engine, and at most
   * `coldWaitMs` for one that is starting. Rejects with the signal's reason when that aborts first.
   */
  acquire(
    name: string,
    request: { readonly accountId: number; readonly signal: AbortSignal; readonly coldWaitMs?: number },
  ): Promise<SlotLease | SlotLoading>;
  status(name: string): SlotStatus;
  /** All slots, in the order of the configuration. */
  statuses(): readonly SlotStatus[];
  /** Starts the slot now, out of a back-off too; does nothing when it is starting or ready. Does not wait. */
  start(name: string): void;
  /**
   * Stops the engine and resolves when its process group is gone; at once when there is none. Leases in flight get `drainMs`
   * (30 s unless told) to end, then are lost. Whoever is queued, or asks later, makes the slot start again.
   */
  stop(name: string, drainMs?: number): Promise<void>;
  /**
   * Makes ready for other settings: new slots take requests from then on. The function that it resolves with makes the rest
   * true at once: slots that are the same go on untouched, those whose engine would be another one drain and start anew, those that
   * are gone drain and stop. Throws when the settings cannot be used; then nothing changes.
   */
  prepare(settings: SlotsSettings): Promise<() => void>;
  /** Answers all waiters `loading`, drains nothing, and resolves when every process group is gone. */
  close(): Promise<void>;
}
