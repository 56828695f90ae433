import { describeError, type Log } from '../log/log.ts';
import type { Clock } from '../time/clock.ts';
import type { SlotGrant, SlotStatus } from './contract.ts';
import type { Driver, Run } from './drivers/driver.ts';
import type { SlotObserver } from './observer.ts';
import type { FleetEffect } from './scheduler/fleet.ts';
import type { SlotEvent, SlotState } from './scheduler/state.ts';
import { isIn } from './scheduler/transitions.ts';
import { statusOfSlot } from './status.ts';

/** The parts of one slot. */
export interface SlotOptions {
  readonly name: string;
  readonly kind: SlotStatus['driver'];
  readonly model: string | null;
  /** One per replica. */
  readonly drivers: readonly Driver[];
  readonly clock: Clock;
  readonly log: Log;
  /** Stores the start history. */
  readonly storeHistory: (history: readonly number[]) => Promise<void>;
  /** Dispatches an event to this slot. */
  readonly dispatch: (event: SlotEvent) => void;
  /** The current state of the slot; null when it was removed. */
  readonly state: () => SlotState | null;
  readonly observer: SlotObserver;
  /** An engine became ready; or it did not start, or crashed. */
  readonly onNews: (isReady: boolean) => void;
}

/** A request from `acquire` to its end. */
interface Request {
  readonly resolve: (granted: SlotGrant) => void;
  /** Removes the request and its listener. */
  readonly end: () => void;
  cancelled: AbortController | null;
}

/** Activity is passed on this often at most: there is much of it, and only the last matters. */
const touchEveryMs = 1000;

/**
 * Runs the effects of one slot: owns its requests and its engines, and does what the reducer
 * decided. Decides nothing itself.
 */
export class SlotExecutor {
  readonly #options: SlotOptions;
  readonly #requests = new Map<number, Request>();
  /** By epoch, until nothing of the start is left. */
  readonly #runs = new Map<number, Run>();
  #lastId = 0;
  #remembering: Promise<void> = Promise.resolve();
  #stops: { readonly epochs: readonly number[]; readonly resolve: () => void }[] = [];

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  acquire(accountId: number, coldWaitMs: number, signal: AbortSignal): Promise<SlotGrant> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      this.#lastId += 1;
      const id = this.#lastId;
      const left = (): void => {
        reject(signal.reason); // Has no effect once a lease was granted.
        this.#leave(id, false);
      };
      const end = (): void => {
        signal.removeEventListener('abort', left);
        this.#requests.delete(id);
      };
      signal.addEventListener('abort', left, { once: true });
      this.#requests.set(id, { resolve, end, cancelled: null });
      this.#options.dispatch({ kind: 'acquire', id, accountId, coldWaitMs });
    });
  }

  /** Null when it was removed. */
  status(): Omit<SlotStatus, 'isPinned'> | null {
    const state = this.#options.state();
    return state === null ? null : statusOfSlot(this.#options.name, this.#options.kind, state);
  }

  /** Resolves when nothing of the current starts is left. */
  async stop(drainMs: number): Promise<void> {
    this.#options.dispatch({ kind: 'stop', drainMs });
    await this.#ended();
  }

  /** Adopts an engine that an earlier Naru left running; it is stopped when idle. */
  async adopt(): Promise<void> {
    for (const driver of this.#options.drivers)
      if ((await driver.isUp?.()) === true) this.#options.dispatch({ kind: 'start' });
  }

  /** Detaches from engines that outlive Naru. */
  leave(): void {
    for (const driver of this.#options.drivers) driver.leave?.();
  }

  async close(): Promise<void> {
    this.#options.dispatch({ kind: 'close' });
    await this.#ended();
    await this.#remembering;
  }

  perform(effect: FleetEffect): void {
    switch (effect.kind) {
      case 'spawn': {
        const { epoch } = effect;
        const run = this.#options.drivers[effect.replica]?.start((report) =>
          this.#options.dispatch({ ...report, epoch }),
        );
        if (run !== undefined) this.#runs.set(epoch, run);
        return;
      }
      case 'terminate':
        this.#runs.get(effect.epoch)?.terminate();
        return;
      case 'kill':
        this.#runs.get(effect.epoch)?.kill();
        return;
      case 'probe':
      case 'warm':
      case 'sleep':
      case 'wake':
      case 'reclaim':
        void this.#call(effect.kind, effect.epoch);
        return;
      case 'grant':
        this.#grant(effect.id, effect.epoch, effect.baseUrl);
        return;
      case 'refuse':
      case 'fail': {
        const request = this.#requests.get(effect.id);
        request?.end();
        request?.resolve(
          effect.kind === 'refuse'
            ? { kind: 'loading', retryAfterSec: effect.retryAfterSec }
            : { kind: 'failed', reason: effect.reason },
        );
        return;
      }
      case 'lose': {
        const request = this.#requests.get(effect.id);
        request?.end();
        request?.cancelled?.abort(new Error(`slot ${this.#options.name}: ${effect.reason}`));
        return;
      }
      case 'remember':
        this.#remembering = this.#remembering
          .then(() => this.#options.storeHistory(effect.history))
          .catch((thrown) => this.#complain('slot.history_failed', thrown));
        return;
      case 'evicted':
        this.#options.observer.evicted(this.#options.name);
        return;
      case 'out':
        for (const { resolve } of this.#stops.splice(0)) resolve();
        return;
    }
  }

  /** Reports the slot's new state to the log and to callers that wait for a stop. */
  announce(before: SlotState, now: SlotState): void {
    for (const [at, replica] of now.replicas.entries()) {
      const was = before.replicas[at];
      if (was !== undefined && replica.failures > was.failures) this.#options.onNews(false);
      if (was === undefined || (was.phase.kind === replica.phase.kind && was.epoch === replica.epoch))
        continue;
      if (replica.phase.kind === 'READY') this.#options.onNews(true);
      const { reason, epoch } = replica;
      const slot = this.#options.name;
      const which = now.replicas.length > 1 ? { replica: at + 1 } : {};
      const fields = { slot, ...which, state: replica.phase.kind, from: was.phase.kind, reason, epoch };
      if (replica.failures > was.failures) this.#options.log.warn('slot.failed', fields);
      else this.#options.log.info('slot.state', fields);
    }
    const ended = this.#stops.filter(({ epochs }) => this.#isOver(epochs));
    this.#stops = this.#stops.filter((stop) => !ended.includes(stop));
    for (const { resolve } of ended) resolve();
  }

  /** Runs an asynchronous call of the engine and dispatches its result. */
  async #call(what: 'probe' | 'warm' | 'sleep' | 'wake' | 'reclaim', epoch: number): Promise<void> {
    const run = this.#runs.get(epoch);
    const { dispatch } = this.#options;
    const failed = (thrown: unknown): undefined => this.#complain(`slot.${what}_failed`, thrown);
    switch (what) {
      case 'probe':
        return dispatch({
          kind: 'probed',
          epoch,
          result: (await run?.probe().catch(failed)) ?? 'waiting',
        });
      case 'warm':
        await run?.warmUp?.().catch(failed);
        return dispatch({ kind: 'warmed', epoch });
      case 'sleep':
        return dispatch({ kind: 'slept', epoch, ok: (await run?.sleep?.().catch(failed)) ?? false });
      case 'wake':
        return dispatch({ kind: 'woken', epoch, ok: (await run?.wake?.().catch(failed)) ?? false });
      case 'reclaim':
        await run?.reclaimed?.().catch(failed);
        return dispatch({ kind: 'reclaimed', epoch });
    }
  }

  #grant(id: number, epoch: number, baseUrl: string): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    const { clock, dispatch, model } = this.#options;
    const cancelled = new AbortController();
    let touchedMs = clock.monotonic();
    request.cancelled = cancelled;
    request.resolve({
      kind: 'lease',
      baseUrl,
      model,
      cancelReason: cancelled.signal,
      release: (outcome = 'served') => this.#leave(id, outcome === 'unreachable'),
      touch: () => {
        const nowMs = clock.monotonic();
        if (nowMs - touchedMs < touchEveryMs) return;
        touchedMs = nowMs;
        dispatch({ kind: 'activity', epoch });
      },
    });
  }

  #leave(id: number, unreachable: boolean): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    request.end();
    this.#options.dispatch({ kind: 'leave', id, unreachable });
  }

  async #ended(): Promise<void> {
    const epochs = this.#options.state()?.replicas.map(({ epoch }) => epoch) ?? [];
    if (this.#isOver(epochs)) return;
    await new Promise<void>((resolve) => this.#stops.push({ epochs, resolve }));
  }

  /** Whether all of these starts have ended; forgets their runs. */
  #isOver(epochs: readonly number[]): boolean {
    const replicas = this.#options.state()?.replicas ?? [];
    const alive = replicas.filter(
      (replica) =>
        !isIn(replica, 'COLD', 'BACKOFF', 'FAILED') &&
        !(replica.phase.kind === 'ADMITTING' && !replica.phase.asleep),
    );
    for (const epoch of this.#runs.keys())
      if (!alive.some((replica) => replica.epoch === epoch)) this.#runs.delete(epoch);
    return epochs.every((epoch) => !alive.some((replica) => replica.epoch === epoch));
  }

  #complain(event: string, thrown: unknown): undefined {
    this.#options.log.error(event, { slot: this.#options.name, error: describeError(thrown) });
  }
}
