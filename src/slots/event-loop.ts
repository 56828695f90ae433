import type { Clock, Timer } from '../time/clock.ts';
import type { Slot } from './executor.ts';
import { emptyFleet, type FleetEvent, type FleetHappening, reduce } from './scheduler/fleet.ts';
import type { FleetState, Member } from './scheduler/vram.ts';

/** Timers of Node hold 31 bits of milliseconds. */
const timerMaxMs = 2_000_000_000;

/** The one owner of all slots: gives events to the reducer, one after the other, and has done what that decides (design.md, S). */
export class Keeper {
  readonly #clock: Clock;
  readonly #hands = new Map<number, Slot>();
  readonly #happenings: FleetHappening[] = [];
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
  join(slot: number, hands: Slot, member: Omit<Member, 'state'> & { history: readonly number[] }): void {
    this.#hands.set(slot, hands);
    this.happen({ kind: 'join', slot, ...member });
  }

  /** The slot as it is decided now; null when it is out. */
  member(slot: number): Member | null {
    return this.#fleet.members.get(slot) ?? null;
  }

  /** Lets something happen; what happens meanwhile waits for its turn. */
  happen(happening: FleetHappening): void {
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

  #decide(happening: FleetHappening): void {
    const before = this.#fleet;
    const event = { ...happening, atMs: this.#clock.monotonic() } as FleetEvent;
    const { fleet, effects, wakeAtMs } = reduce(before, event);
    this.#fleet = fleet;
    this.#wakeAtMs = wakeAtMs;
    for (const effect of effects) this.#hands.get(effect.slot)?.perform(effect);
    for (const [slot, { state }] of fleet.members) {
      const was = before.members.get(slot);
      if (was !== undefined && was.state !== state) this.#hands.get(slot)?.announce(was.state, state);
    }
    for (const { kind, slot } of effects) {
      if (kind !== 'out') continue;
      this.#hands.delete(slot);
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
      this.happen({ kind: 'time' });
    });
    this.#timer = { atMs, timer };
  }
}
