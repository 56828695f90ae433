import { addGauge, Counter, Histogram, type Registry } from '../metrics/registry.ts';
import type { SlotStatus } from './contract.ts';
import type { SlotObserver, StartOutcome, WaitOutcome } from './observer.ts';

/** Every state that a slot may be in; each is a series, of which one is 1. */
const states = [
  ...(['COLD', 'ADMITTING', 'STARTING', 'WARMING', 'READY', 'SLEEPING'] as const),
  ...(['DRAINING', 'STOPPING', 'RECLAIMING', 'BACKOFF', 'FAILED'] as const),
];
const startOutcomes: readonly StartOutcome[] = ['ready', 'failed', 'over_budget', 'stopped'];
const waitOutcomes: readonly WaitOutcome[] = ['lease', 'loading', 'failed', 'left'];

/** From a warm small engine to a large one from a cold disk. */
const startBoundsSec = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600];
/** From a free lane to a queue behind long responses. */
const waitBoundsSec = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/**
 * The `naru_slot_*` metrics: what the slots are doing, and what was observed of them. The slots are
 * those of the configuration.
 */
export class SlotMetrics implements SlotObserver {
  readonly #starts: Counter<'slot' | 'outcome'>;
  readonly #startSec: Histogram<'slot'>;
  readonly #waitSec: Histogram<'slot' | 'outcome'>;
  readonly #restarts: Counter<'slot'>;
  readonly #evictions: Counter<'slot'>;
  readonly #known = new Set<string>();
  #statuses: () => readonly SlotStatus[] = () => [];

  constructor(registry: Registry) {
    const registers = [registry];
    const labelNames = ['slot'] as const;
    this.#addGauges(registry);
    this.#starts = new Counter({
      name: 'naru_slot_starts_total',
      help: 'Completed starts of an engine, by outcome.',
      labelNames: ['slot', 'outcome'],
      registers,
    });
    this.#startSec = new Histogram({
      name: 'naru_slot_start_seconds',
      help: 'From the start of an engine until it is ready.',
      labelNames,
      buckets: startBoundsSec,
      registers,
    });
    this.#waitSec = new Histogram({
      name: 'naru_slot_wait_seconds',
      help: 'Time that a request waited for a lane, by outcome.',
      labelNames: ['slot', 'outcome'],
      buckets: waitBoundsSec,
      registers,
    });
    this.#restarts = new Counter({
      name: 'naru_slot_restarts_total',
      help: 'Starts after a ready engine crashed.',
      labelNames,
      registers,
    });
    this.#evictions = new Counter({
      name: 'naru_slot_evictions_total',
      help: 'Ready engines that were stopped to free memory for another slot.',
      labelNames,
      registers,
    });
  }

  /** From now on the page shows these slots. */
  show(statuses: () => readonly SlotStatus[]): void {
    this.#statuses = statuses;
  }

  started(slot: string, outcome: StartOutcome, tookMs: number): void {
    this.#add(slot);
    this.#starts.inc({ slot, outcome });
    if (outcome === 'ready') this.#startSec.observe({ slot }, tookMs / 1000);
  }

  restarted(slot: string): void {
    this.#add(slot);
    this.#restarts.inc({ slot });
  }

  waited(slot: string, outcome: WaitOutcome, waitedMs: number): void {
    this.#add(slot);
    this.#waitSec.observe({ slot, outcome }, waitedMs / 1000);
  }

  evicted(slot: string): void {
    this.#add(slot);
    this.#evictions.inc({ slot });
  }

  /** What the slots are doing, read when the page is. */
  #addGauges(registry: Registry): void {
    const each = (read: (status: SlotStatus) => number) => () =>
      this.#statuses().map((status) => ({ labels: { slot: status.name }, value: read(status) }));
    const labelNames = ['slot'];
    addGauge(
      registry,
      {
        name: 'naru_slot_state',
        help: 'State of the slot: 1 for the current state, 0 for the others.',
        labelNames: ['slot', 'state'],
      },
      () => {
        // The first metric of the page: what comes below has its series by then.
        this.#keepOnly(this.#statuses().map(({ name }) => name));
        return this.#statuses().flatMap(({ name, state: current }) =>
          states.map((state) => ({ labels: { slot: name, state }, value: state === current ? 1 : 0 })),
        );
      },
    );
    addGauge(
      registry,
      { name: 'naru_slot_in_flight', help: 'Requests that the engine is processing.', labelNames },
      each(({ inFlight }) => inFlight),
    );
    addGauge(
      registry,
      { name: 'naru_slot_queue_depth', help: 'Requests that wait for the engine.', labelNames },
      each(({ queued }) => queued),
    );
    addGauge(
      registry,
      {
        name: 'naru_slot_demand',
        help: 'Requests in flight and waiting; the demand for an autoscaler.',
        labelNames,
      },
      each(({ inFlight, queued }) => inFlight + queued),
    );
  }

  /**
   * A slot has every series from the beginning, at zero, so that its first event is an increase.
   */
  #add(slot: string): void {
    if (this.#known.has(slot)) return;
    this.#known.add(slot);
    for (const outcome of startOutcomes) this.#starts.inc({ slot, outcome }, 0);
    this.#startSec.zero({ slot });
    for (const outcome of waitOutcomes) this.#waitSec.zero({ slot, outcome });
    this.#restarts.inc({ slot }, 0);
    this.#evictions.inc({ slot }, 0);
  }

  #keepOnly(slots: readonly string[]): void {
    for (const slot of slots) this.#add(slot);
    const current = new Set(slots);
    for (const slot of this.#known) {
      if (current.has(slot)) continue;
      this.#known.delete(slot);
      for (const outcome of startOutcomes) this.#starts.remove({ slot, outcome });
      this.#startSec.remove({ slot });
      for (const outcome of waitOutcomes) this.#waitSec.remove({ slot, outcome });
      this.#restarts.remove({ slot });
      this.#evictions.remove({ slot });
    }
  }
}
