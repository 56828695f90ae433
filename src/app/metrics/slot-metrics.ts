import { type Family, Histogram, type Sample } from '../../http/exposition.ts';
import type { SlotStatus } from '../../slots/contract.ts';
import type { SlotObserver, StartOutcome, WaitOutcome } from '../../slots/observer.ts';

/** Every state that a slot may be in; each is a series, of which one is 1. */
const states = [
  ...(['COLD', 'ADMITTING', 'STARTING', 'WARMING', 'READY', 'SLEEPING'] as const),
  ...(['DRAINING', 'STOPPING', 'RECLAIMING', 'BACKOFF', 'FAILED'] as const),
];
const startOutcomes: readonly StartOutcome[] = ['ready', 'failed', 'over_budget', 'stopped', 'collided'];
const waitOutcomes: readonly WaitOutcome[] = ['lease', 'loading', 'left'];

/** From a warm small engine to a large one from a cold disk. */
const startBoundsSec = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600];
/** From a free lane to a queue behind long answers. */
const waitBoundsSec = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** What was counted of one slot since this Naru began. */
interface Counts {
  readonly starts: Map<StartOutcome, number>;
  readonly startSec: Histogram;
  readonly waitSec: ReadonlyMap<WaitOutcome, Histogram>;
  restarts: number;
  evictions: number;
}

/** The `slot_*` families of the metrics page: what the slots are doing, and what was observed of them. */
export class SlotMetrics implements SlotObserver {
  readonly #slots = new Map<string, Counts>();

  started(slot: string, outcome: StartOutcome, tookMs: number): void {
    const { starts, startSec } = this.#of(slot);
    starts.set(outcome, (starts.get(outcome) ?? 0) + 1);
    if (outcome === 'ready') startSec.observe(tookMs / 1000);
  }

  restarted(slot: string): void {
    this.#of(slot).restarts += 1;
  }

  waited(slot: string, outcome: WaitOutcome, waitedMs: number): void {
    this.#of(slot)
      .waitSec.get(outcome)
      ?.observe(waitedMs / 1000);
  }

  evicted(slot: string): void {
    this.#of(slot).evictions += 1;
  }

  /** The families; a slot of which nothing is known yet has zeros, so that the first event is an increase. */
  families(statuses: readonly SlotStatus[]): readonly Family[] {
    const all = statuses.map((status) => ({ status, counts: this.#of(status.name) }));
    const family = (
      type: Family['type'],
      name: string,
      help: string,
      samplesOf: (slot: { readonly status: SlotStatus; readonly counts: Counts }) => readonly Sample[],
    ): Family => ({ type, name, help, samples: all.flatMap(samplesOf) });
    const one = (status: SlotStatus, value: number): readonly Sample[] => [
      { labels: { slot: status.name }, value },
    ];
    return [
      family(
        'gauge',
        'slot_state',
        'What the slot is doing: 1 for its state, 0 for the others.',
        ({ status }) => {
          const current: (typeof states)[number] = status.state;
          return states.map((state) => ({
            labels: { slot: status.name, state },
            value: state === current ? 1 : 0,
          }));
        },
      ),
      family('gauge', 'slot_in_flight', 'Requests that its engine works on.', ({ status }) =>
        one(status, status.inFlight),
      ),
      family('gauge', 'slot_queue_depth', 'Requests that wait for its engine.', ({ status }) =>
        one(status, status.queued),
      ),
      family(
        'gauge',
        'slot_demand',
        'Requests in flight and waiting: what an autoscaler scales by.',
        ({ status }) => one(status, status.inFlight + status.queued),
      ),
      family(
        'counter',
        'slot_starts_total',
        'Starts of an engine that ended, by how.',
        ({ status, counts }) =>
          startOutcomes.map((outcome) => ({
            labels: { slot: status.name, outcome },
            value: counts.starts.get(outcome) ?? 0,
          })),
      ),
      family('histogram', 'slot_start_seconds', 'From the start of an engine until it is ready.', (slot) =>
        slot.counts.startSec.samples({ slot: slot.status.name }),
      ),
      family(
        'histogram',
        'slot_wait_seconds',
        'From asking for a lane to the answer, by what that was.',
        (slot) =>
          [...slot.counts.waitSec].flatMap(([outcome, waits]) =>
            waits.samples({ slot: slot.status.name, outcome }),
          ),
      ),
      family('counter', 'slot_restarts_total', 'Starts after a ready engine crashed.', ({ status, counts }) =>
        one(status, counts.restarts),
      ),
      family(
        'counter',
        'slot_evictions_total',
        'Ready engines that made room for another slot.',
        ({ status, counts }) => one(status, counts.evictions),
      ),
    ];
  }

  #of(slot: string): Counts {
    const known = this.#slots.get(slot);
    if (known !== undefined) return known;
    const counts: Counts = {
      starts: new Map(),
      startSec: new Histogram(startBoundsSec),
      waitSec: new Map(waitOutcomes.map((outcome) => [outcome, new Histogram(waitBoundsSec)])),
      restarts: 0,
      evictions: 0,
    };
    this.#slots.set(slot, counts);
    return counts;
  }
}
