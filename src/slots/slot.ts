import { describeError, type Log } from '../log/log.ts';
import type { Clock, Timer } from '../time/clock.ts';
import type { SlotLease, SlotLoading, SlotStatus } from './contract.ts';
import type { Driver, Run } from './driver.ts';
import { wakeAtMs } from './estimate.ts';
import { reduce } from './reducer.ts';
import { coldSlot, type SlotConfig, type SlotEffect, type SlotEvent, type SlotState } from './state.ts';

/** An event without its time, which the shell adds. */
type Happening = SlotEvent extends infer E ? (E extends unknown ? Omit<E, 'atMs'> : never) : never;

/** What one slot is made of. */
export interface SlotOptions {
  readonly name: string;
  readonly kind: SlotStatus['driver'];
  readonly model: string | null;
  readonly config: SlotConfig;
  readonly history: readonly number[];
  readonly driver: Driver;
  readonly clock: Clock;
  readonly log: Log;
  /** Keeps the start history. */
  readonly remember: (history: readonly number[]) => Promise<void>;
}

/** A request from `acquire` to its end. */
interface Request {
  readonly resolve: (answer: SlotLease | SlotLoading) => void;
  /** Forgets the request and its listener. */
  readonly end: () => void;
  lost: AbortController | null;
}

/** Timers of Node hold 31 bits of milliseconds. */
const timerMaxMs = 2_000_000_000;

/** The one owner of a slot: gives its events to the reducer, one after the other, and does what that decides (design.md, S). */
export class Slot {
  readonly #options: SlotOptions;
  readonly #requests = new Map<number, Request>();
  readonly #happenings: Happening[] = [];
  #state: SlotState;
  #run: Run | null = null;
  #lastId = 0;
  #deciding = false;
  #timer: { readonly atMs: number; readonly timer: Timer } | null = null;
  #remembering: Promise<void> = Promise.resolve();
  #stops: { readonly epoch: number; readonly resolve: () => void }[] = [];

  constructor(options: SlotOptions) {
    this.#options = options;
    this.#state = coldSlot(options.history);
  }

  acquire(accountId: number, coldWaitMs: number, signal: AbortSignal): Promise<SlotLease | SlotLoading> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      this.#lastId += 1;
      const id = this.#lastId;
      const left = (): void => {
        reject(signal.reason); // Means nothing any more when a lease was granted.
        this.#leave(id, false);
      };
      const end = (): void => {
        signal.removeEventListener('abort', left);
        this.#requests.delete(id);
      };
      signal.addEventListener('abort', left, { once: true });
      this.#requests.set(id, { resolve, end, lost: null });
      this.happen({ kind: 'acquire', id, accountId, coldWaitMs });
    });
  }

  status(): SlotStatus {
    const { phase, reason, engine, leases, queue, epoch, history } = this.#state;
    return {
      name: this.#options.name,
      driver: this.#options.kind,
      state: phase.kind,
      reason,
      pid: engine?.pid ?? null,
      port: engine?.port ?? null,
      inFlight: leases.length,
      queued: queue.size,
      starts: epoch,
      lastStartMs: history.at(-1) ?? null,
    };
  }

  /** Resolves when nothing of the present start is left. */
  async stop(drainMs: number): Promise<void> {
    this.happen({ kind: 'stop', drainMs });
    await this.#ended();
  }

  async close(): Promise<void> {
    this.happen({ kind: 'close' });
    await this.#ended();
    await this.#remembering;
    this.#timer?.timer.cancel();
  }

  /** Lets something happen to the slot; what happens meanwhile waits for its turn. */
  happen(happening: Happening): void {
    this.#happenings.push(happening);
    if (this.#deciding) return;
    this.#deciding = true;
    try {
      for (let next = this.#happenings.shift(); next !== undefined; next = this.#happenings.shift()) {
        const before = this.#state;
        const event = { ...next, atMs: this.#options.clock.monotonic() } as SlotEvent;
        const { state, effects } = reduce(before, event, this.#options.config);
        this.#state = state;
        for (const effect of effects) this.#perform(effect);
        this.#announce(before);
      }
    } finally {
      this.#deciding = false;
    }
    this.#arm();
  }

  #perform(effect: SlotEffect): void {
    switch (effect.kind) {
      case 'spawn': {
        const { epoch } = effect;
        this.#run = this.#options.driver.start((report) => this.happen({ ...report, epoch }));
        return;
      }
      case 'probe':
        void this.#probe(effect.epoch);
        return;
      case 'terminate':
        this.#run?.terminate();
        return;
      case 'kill':
        this.#run?.kill();
        return;
      case 'grant':
        this.#grant(effect.id, effect.baseUrl);
        return;
      case 'refuse': {
        const request = this.#requests.get(effect.id);
        request?.end();
        request?.resolve({ kind: 'loading', retryAfterSec: effect.retryAfterSec });
        return;
      }
      case 'lose': {
        const request = this.#requests.get(effect.id);
        request?.end();
        request?.lost?.abort(new Error(`slot ${this.#options.name}: ${this.#state.reason}`));
        return;
      }
      case 'remember':
        this.#remembering = this.#remembering
          .then(() => this.#options.remember(effect.history))
          .catch((thrown) => this.#complain('slot.history_failed', thrown));
        return;
    }
  }

  #grant(id: number, baseUrl: string): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    const lost = new AbortController();
    request.lost = lost;
    request.resolve({
      kind: 'lease',
      baseUrl,
      model: this.#options.model,
      lost: lost.signal,
      release: (outcome = 'served') => this.#leave(id, outcome === 'unreachable'),
    });
  }

  #leave(id: number, unreachable: boolean): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    request.end();
    this.happen({ kind: 'leave', id, unreachable });
  }

  async #probe(epoch: number): Promise<void> {
    const answer = await this.#run?.probe().catch((thrown) => this.#complain('slot.probe_failed', thrown));
    this.happen({ kind: 'probed', epoch, answer: answer ?? 'waiting' });
  }

  async #ended(): Promise<void> {
    if (this.#run === null || this.#isEnded(this.#state.epoch)) return;
    const { epoch } = this.#state;
    await new Promise<void>((resolve) => this.#stops.push({ epoch, resolve }));
  }

  #isEnded(epoch: number): boolean {
    const { phase } = this.#state;
    return this.#state.epoch !== epoch || phase.kind === 'COLD' || phase.kind === 'BACKOFF';
  }

  /** Tells the log and those who wait for a stop where the slot stands now. */
  #announce(before: SlotState): void {
    const { phase, reason, epoch } = this.#state;
    if (phase.kind === before.phase.kind && epoch === before.epoch) return;
    const fields = { slot: this.#options.name, state: phase.kind, from: before.phase.kind, reason, epoch };
    if (this.#state.failures > before.failures) this.#options.log.warn('slot.failed', fields);
    else this.#options.log.info('slot.state', fields);
    const ended = this.#stops.filter((stop) => this.#isEnded(stop.epoch));
    this.#stops = this.#stops.filter((stop) => !ended.includes(stop));
    for (const { resolve } of ended) resolve();
  }

  /** Sees to it that there is a tick when the state wants one; a timer that is too early does no harm and stays. */
  #arm(): void {
    const atMs = wakeAtMs(this.#state, this.#options.config);
    if (atMs === Number.POSITIVE_INFINITY || (this.#timer !== null && this.#timer.atMs <= atMs)) return;
    this.#timer?.timer.cancel();
    const delayMs = Math.min(timerMaxMs, Math.max(0, Math.ceil(atMs - this.#options.clock.monotonic())));
    const timer = this.#options.clock.after(delayMs, () => {
      this.#timer = null;
      this.happen({ kind: 'tick' });
    });
    this.#timer = { atMs, timer };
  }

  #complain(event: string, thrown: unknown): undefined {
    this.#options.log.error(event, { slot: this.#options.name, error: describeError(thrown) });
  }
}
