import type { Clock, Timer } from '../time/clock.ts';
import type { SlotExecutor } from './executor.ts';
import { emptyFleet, type FleetEvent, reduce, type TimedFleetEvent } from './scheduler/fleet.ts';
import type { FleetState, Member } from './scheduler/vram.ts';

/** Timers of Node hold 31 bits of milliseconds. */
const timerMaxMs = 2_000_000_000;

/** The one owner of all slots: gives events to the reducer, one after the other, and has done what that decides (design.md, S). */
export class SlotEventLoop {
  readonly #clock: Clock;
  readonly #executor = new Map<number, SlotExecutor>();
  readonly #happenings: FleetEvent[] = [];
  #fleet: FleetState = emptyFleet;
  #wakeAtMs = Number.POSITIVE_INFINITY;
  #deciding = false;
  #timer: { readonly atMs: number; readonly timer: Timer } | null = null;
  readonly #onOut: (slot: number) => void;

  /** `onOut` hears of each retired slot of which nothing is left. */
  constructor(clock: Clock, onOut: (slot: number) => void) {
    this.#clock = clock;
    this.#onOut = onOut;
  }

  /** A slot and its hands: nothing happens to it before. */
  join(
    slot: number,
    executor: SlotExecutor,
    member: Omit<Member, 'state'> & { history: readonly number[] },
  ): void {
    this.#executor.set(slot, executor);
    this.dispatch({ kind: 'join', slot, ...member });
  }

  /** The slot as it is decided now; null when it is out. */
  member(slot: number): Member | null {
    return this.#fleet.members.get(slot) ?? null;
  }

  /** Lets something happen; what happens meanwhile waits for its turn. */
  dispatch(happening: FleetEvent): void {
    this.#happenings.push(happening);
    if (this.#deciding) return;
    this.#deciding = true;
    try {
      for (let next = this.#happenings.shift(); next !== undefined; next = this.#happenings.shift())
        this.#decide(next);
    } finally {
      this.#deciding = false;
    }
    this.#arm();
  }

  /** Stops looking at the time. */
  close(): void {
    this.#timer?.timer.cancel();
    this.#timer = null;
  }

  #decide(happening: FleetEvent): void {
    const before = this.#fleet;
    const event = { ...happening, atMs: this.#clock.monotonic() } as TimedFleetEvent;
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

  /** Sees to it that there is a look at the time when the fleet wants one; a timer that is too early does no harm and stays. */
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
