import type { Clock, Timer } from '../time/clock.ts';
import type { SlotExecutor } from './executor.ts';
import { emptyFleet, type FleetEvent, reduce, type TimedFleetEvent } from './scheduler/fleet.ts';
import type { FleetState, Member } from './scheduler/vram.ts';

/** Node's timers hold 31 bits of milliseconds. */
const timerMaxMs = 2_000_000_000;

/**
 * The one owner of all slots: passes events to the reducer, one at a time, and runs the effects
 * (design.md, S).
 */
export class SlotEventLoop {
  readonly #clock: Clock;
  readonly #executor = new Map<number, SlotExecutor>();
  readonly #events: FleetEvent[] = [];
  #fleet: FleetState = emptyFleet;
  #wakeAtMs = Number.POSITIVE_INFINITY;
  #deciding = false;
  #timer: { readonly atMs: number; readonly timer: Timer } | null = null;
  readonly #onOut: (slot: number) => void;

  /** `onOut` receives each retired slot of which nothing is left. */
  constructor(clock: Clock, onOut: (slot: number) => void) {
    this.#clock = clock;
    this.#onOut = onOut;
  }

  /** Adds a slot with its executor; no event reaches the slot before. */
  join(
    slot: number,
    executor: SlotExecutor,
    member: Omit<Member, 'state'> & { history: readonly number[] },
  ): void {
    this.#executor.set(slot, executor);
    this.dispatch({ kind: 'join', slot, ...member });
  }

  /** The current state of the slot; null when it was removed. */
  member(slot: number): Member | null {
    return this.#fleet.members.get(slot) ?? null;
  }

  /** Dispatches an event; events dispatched meanwhile wait for their turn. */
  dispatch(event: FleetEvent): void {
    this.#events.push(event);
    if (this.#deciding) return;
    this.#deciding = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift())
        this.#decide(next);
    } finally {
      this.#deciding = false;
    }
    this.#arm();
  }

  /** Stops the timer. */
  close(): void {
    this.#timer?.timer.cancel();
    this.#timer = null;
  }

  #decide(untimed: FleetEvent): void {
    const before = this.#fleet;
    const event = { ...untimed, atMs: this.#clock.monotonic() } as TimedFleetEvent;
    const { fleet, effects, wakeAtMs } = reduce(before, event);
    this.#fleet = fleet;
    this.#wakeAtMs = wakeAtMs;
    for (const effect of effects) this.#executor.get(effect.slot)?.perform(effect);
    for (const [slot, { state }] of fleet.members) {
      const was = before.members.get(slot);
      if (was !== undefined && was.state !== state) this.#executor.get(slot)?.announce(was.state, state);
    }
    for (const { kind, slot } of effects) {
      if (kind !== 'out') continue;
      this.#executor.delete(slot);
      this.#onOut(slot);
    }
  }

  /** Arms a timer for the fleet's next wake-up; one that fires too early is harmless and stays. */
  #arm(): void {
    const atMs = this.#wakeAtMs;
    if (atMs === Number.POSITIVE_INFINITY || (this.#timer !== null && this.#timer.atMs <= atMs)) return;
    this.#timer?.timer.cancel();
    const delayMs = Math.min(timerMaxMs, Math.max(0, Math.ceil(atMs - this.#clock.monotonic())));
    const timer = this.#clock.after(delayMs, () => {
      this.#timer = null;
      this.dispatch({ kind: 'time' });
    });
    this.#timer = { atMs, timer };
  }
}
