import { reduce, type TimedFleetEvent } from '../../src/slots/scheduler/fleet.ts';
import type { SlotConfig, SlotEffect, SlotState, TimedSlotEvent } from '../../src/slots/scheduler/state.ts';
import type { FleetState } from '../../src/slots/scheduler/vram.ts';

/** The settings of a slot, with everything optional disabled. */
export function slotConfig(more: Partial<SlotConfig> = {}): SlotConfig {
  return {
    external: false,
    replicas: [[]],
    maxConcurrency: 1,
    startBudgetMs: 30_000,
    idleStopMs: 0,
    graceMs: 5000,
    vramMb: 0,
    sleepVramMb: null,
    minResidentMs: 0,
    stallMs: 0,
    warmUpMs: 0,
    reclaimMs: 0,
    circuitMs: 60_000,
    ...more,
  };
}

/**
 * A fleet of one slot, number 1, through some events: the slot afterwards, and all that was to be
 * done.
 */
export function playOne(
  state: SlotState,
  events: readonly TimedSlotEvent[],
  config: SlotConfig,
): { state: SlotState; effects: readonly SlotEffect[] } {
  const start: FleetState = { members: new Map([[1, { config, state, after: null }]]), budgets: new Map() };
  const { fleet, effects } = playAll(
    start,
    events.map((event) => ({ slot: 1, ...event })),
  );
  const own = effects.map(({ slot, ...effect }) => effect as SlotEffect);
  return { state: fleet.members.get(1)?.state ?? state, effects: own };
}

/** A fleet through some events. */
export function playAll(start: FleetState, events: readonly TimedFleetEvent[]) {
  let fleet = start;
  const effects = [];
  for (const event of events) {
    const decision = reduce(fleet, event);
    fleet = decision.fleet;
    effects.push(...decision.effects);
  }
  return { fleet, effects };
}

/** What the first engine of a slot is doing. */
export function phaseOf(state: SlotState | undefined): string {
  return state?.replicas[0]?.phase.kind ?? 'none';
}
