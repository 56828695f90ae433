import { expectedStartMs } from '../history.ts';
import type { Replica, SlotConfig, SlotState } from './state.ts';
import { isAsleep, isIn } from './transitions.ts';

/** One slot of the fleet. */
export interface Member {
  readonly config: SlotConfig;
  readonly state: SlotState;
  /** The slot whose engines must be gone before this one may start any: what it was before its settings changed. */
  readonly after: number | null;
}

/** All slots, and the memory they share. A GPU without a budget has room for everybody. */
export interface FleetState {
  readonly members: ReadonlyMap<number, Member>;
  /** MiB by GPU. */
  readonly budgets: ReadonlyMap<string, number>;
}

/** What the room wants done to a replica, in this order. */
export type Move = { readonly slot: number; readonly at: number } & (
  | { readonly kind: 'admit' }
  | { readonly kind: 'evict'; readonly why: string }
  | { readonly kind: 'reserve-later'; readonly roomAtMs: number }
  | { readonly kind: 'stop-admitting'; readonly fromMs: number }
);

/** A replica in its slot. */
interface PlacedReplica {
  readonly slot: number;
  readonly at: number;
  readonly replica: Replica;
  readonly gpus: readonly string[];
  readonly member: Member;
}

/** What a replica holds of each of its GPUs, in MiB: follows from its phase alone (design.md, R1). */
export function occupiedMb(replica: Replica, config: SlotConfig): number {
  if (isIn(replica, 'COLD', 'BACKOFF', 'FAILED')) return 0;
  if (isAsleep(replica)) return config.sleepVramMb ?? config.vramMb;
  return isIn(replica, 'ADMITTING') ? 0 : config.vramMb;
}

/** MiB in use by GPU. */
export function usedMb(fleet: FleetState): Map<string, number> {
  const used = new Map<string, number>();
  for (const { replica, gpus, member } of placedReplicas(fleet))
    for (const gpu of gpus) used.set(gpu, (used.get(gpu) ?? 0) + occupiedMb(replica, member.config));
  return used;
}

/** The GPU whose whole budget is less than what one replica wants of it; null when all is well. */
export function exceedsBudget(config: SlotConfig, budgets: ReadonlyMap<string, number>): string | null {
  return config.replicas.flat().find((gpu) => config.vramMb > (budgets.get(gpu) ?? config.vramMb)) ?? null;
}

/** What to do now for those who want memory; nothing when all is as it should be (design.md, R). */
export function arrange(fleet: FleetState, nowMs: number): readonly Move[] {
  if (!isWanted(fleet)) return [];
  const places = placedReplicas(fleet);
  const used = usedMb(fleet);
  const moves: Move[] = [];
  const yields = new Map<Replica, number>();
  /** GPUs that somebody who came earlier waits for, and when he is done with them. */
  const taken = new Map<string, number>();
  const lacksOf = (place: PlacedReplica): Map<string, number> =>
    new Map(
      place.gpus.flatMap((gpu) => {
        const lackMb = (used.get(gpu) ?? 0) + wantedMb(place) - (fleet.budgets.get(gpu) ?? never);
        return lackMb > 0 ? [[gpu, lackMb] as const] : [];
      }),
    );
  const admit = (place: PlacedReplica): void => {
    moves.push({ kind: 'admit', slot: place.slot, at: place.at });
    for (const gpu of place.gpus) used.set(gpu, (used.get(gpu) ?? 0) + wantedMb(place));
  };
  for (const place of waitingReplicas(places)) {
    const { member, gpus } = place;
    if (member.after !== null && fleet.members.has(member.after)) {
      reserveLater(place, nowMs, moves);
      continue;
    }
    const aheadMs = Math.max(0, ...gpus.map((gpu) => taken.get(gpu) ?? 0));
    const lacks = lacksOf(place);
    if (aheadMs === 0 && lacks.size === 0) {
      admit(place);
      continue;
    }
    let roomAtMs = aheadMs;
    if (aheadMs === 0) {
      const plan = makeRoom(place, lacks, places, nowMs);
      roomAtMs = plan.atMs;
      const why = `makes room for another slot on GPU ${[...lacks.keys()].join(', ')}`;
      for (const victim of plan.evict) moves.push({ kind: 'evict', slot: victim.slot, at: victim.at, why });
      const sinceMs = place.replica.phase.kind === 'ADMITTING' ? place.replica.phase.sinceMs : nowMs;
      for (const resident of plan.yielding) yields.set(resident.replica, sinceMs);
    }
    const { startBudgetMs, minResidentMs } = member.config;
    const doneMs = roomAtMs + expectedStartMs(member.state.history, startBudgetMs) + minResidentMs;
    for (const gpu of gpus) if (fleet.budgets.has(gpu)) taken.set(gpu, doneMs);
    reserveLater(place, roomAtMs, moves);
  }
  for (const place of places) {
    if (wantsMore(place.member, place.at) && place.gpus.every((gpu) => !taken.has(gpu)))
      if (lacksOf(place).size === 0) {
        admit(place);
        break; // One at a time: the next look counts it.
      }
  }
  for (const { replica, slot, at } of places) {
    const fromMs = yields.get(replica) ?? never;
    if (replica.phase.kind === 'READY' && replica.phase.yieldsFromMs !== fromMs)
      moves.push({ kind: 'stop-admitting', slot, at, fromMs });
  }
  return moves;
}

/** Whether anybody wants memory, or is still to give way to somebody who does not want it any more. Most events find neither. */
function isWanted({ members }: FleetState): boolean {
  for (const { state } of members.values()) {
    if (state.queue.size > 0 && state.replicas.length > 1) return true;
    for (const { phase } of state.replicas)
      if (phase.kind === 'ADMITTING' || (phase.kind === 'READY' && phase.yieldsFromMs !== never)) return true;
  }
  return false;
}

/** When the room has something to do although nothing happens: somebody's residency is over. Infinite for never. */
export function roomWakeAtMs(fleet: FleetState, nowMs: number): number {
  let atMs = never;
  for (const { state } of fleet.members.values())
    for (const { phase } of state.replicas)
      if (phase.kind === 'ADMITTING' && phase.roomAtMs > nowMs) atMs = Math.min(atMs, phase.roomAtMs);
  return atMs;
}

const never = Number.POSITIVE_INFINITY;

function placedReplicas({ members }: FleetState): readonly PlacedReplica[] {
  const places: PlacedReplica[] = [];
  for (const [slot, member] of members)
    for (const [at, replica] of member.state.replicas.entries())
      places.push({ slot, at, replica, member, gpus: member.config.replicas[at] ?? [] });
  return places;
}

/** Those who want memory, whoever wanted it first at the front (R3). */
function waitingReplicas(places: readonly PlacedReplica[]): readonly PlacedReplica[] {
  const since = ({ replica: { phase } }: PlacedReplica): number =>
    phase.kind === 'ADMITTING' ? phase.sinceMs : 0;
  return places.filter(({ replica }) => isIn(replica, 'ADMITTING')).toSorted((a, b) => since(a) - since(b));
}

/** What it wants beyond what it holds. */
function wantedMb({ replica, member: { config } }: PlacedReplica): number {
  return config.vramMb - occupiedMb(replica, config);
}

/** Whether a slot that serves has more to do than its engines have lanes, and this replica could help (R7). */
function wantsMore({ state, config }: Member, at: number): boolean {
  if (state.queue.size === 0 || state.closed || state.retiringUntilMs !== null) return false;
  const helps = state.replicas[at];
  if (helps === undefined || !(isIn(helps, 'COLD') || (isIn(helps, 'SLEEPING') && isAsleep(helps))))
    return false;
  const busy = state.replicas.filter((replica) => isIn(replica, 'READY', 'STARTING', 'WARMING'));
  const ill = state.replicas.some((replica) => isIn(replica, 'ADMITTING', 'BACKOFF', 'FAILED'));
  const waking = state.replicas.filter(({ phase }) => phase.kind === 'SLEEPING' && phase.step === 'waking');
  const leases = state.replicas.reduce((sum, replica) => sum + replica.leases.length, 0);
  const lanes = (busy.length + waking.length) * config.maxConcurrency;
  return !ill && busy.length > 0 && state.queue.size + leases > lanes;
}

function reserveLater({ slot, at, replica }: PlacedReplica, roomAtMs: number, moves: Move[]): void {
  if (replica.phase.kind === 'ADMITTING' && replica.phase.roomAtMs !== roomAtMs)
    moves.push({ kind: 'reserve-later', slot, at, roomAtMs });
}

/** Whom to evict so that there is enough, all or nobody; else who is to give way, and when there may be enough. */
function makeRoom(
  applicant: PlacedReplica,
  lacks: ReadonlyMap<string, number>,
  places: readonly PlacedReplica[],
  nowMs: number,
): {
  readonly evict: readonly PlacedReplica[];
  readonly yielding: readonly PlacedReplica[];
  readonly atMs: number;
} {
  const left = new Map(lacks);
  const free = (place: PlacedReplica, mb: number): void => {
    for (const gpu of place.gpus) if (left.has(gpu)) left.set(gpu, (left.get(gpu) ?? 0) - mb);
  };
  const enough = (): boolean => [...left.values()].every((mb) => mb <= 0);
  for (const place of places) free(place, comingMb(place));
  if (enough()) return { evict: [], yielding: [], atMs: nowMs };
  const residents = places
    .filter((place) => place.slot !== applicant.slot && place.gpus.some((gpu) => (left.get(gpu) ?? 0) > 0))
    .filter((place) => occupiedMb(place.replica, place.member.config) > comingMb(place));
  const evictable = residents
    .filter((place) => mayGo(place, nowMs))
    .toSorted((a, b) => evictionCost(a, nowMs) - evictionCost(b, nowMs));
  const picked = pick(evictable, left, free, enough);
  if (picked !== null) return { evict: picked, yielding: [], atMs: nowMs };
  const inTime = residents
    .map((place) => ({ place, freeMs: Math.max(nowMs, freeAtMs(place)) }))
    .toSorted((a, b) => a.freeMs - b.freeMs || evictionCost(a.place, nowMs) - evictionCost(b.place, nowMs));
  const rest = new Map(left);
  const chosen = inTime.filter(({ place }) => {
    const helps = place.gpus.some((gpu) => (rest.get(gpu) ?? 0) > 0);
    const mb = occupiedMb(place.replica, place.member.config) - comingMb(place);
    if (helps) for (const gpu of place.gpus) rest.set(gpu, (rest.get(gpu) ?? 0) - mb);
    return helps;
  });
  return {
    evict: [],
    yielding: chosen.filter(({ freeMs }) => freeMs <= nowMs).map(({ place }) => place),
    atMs: Math.max(...chosen.map(({ freeMs }) => freeMs), nowMs),
  };
}

/** The first of `places` that are enough together, without those that turn out not to be needed; null when all are not enough. */
function pick(
  places: readonly PlacedReplica[],
  left: ReadonlyMap<string, number>,
  free: (place: PlacedReplica, mb: number) => void,
  enough: () => boolean,
): readonly PlacedReplica[] | null {
  const held = (place: PlacedReplica): number =>
    occupiedMb(place.replica, place.member.config) - comingMb(place);
  let picked: PlacedReplica[] = [];
  for (const place of places) {
    if (enough()) break;
    if (!place.gpus.some((gpu) => (left.get(gpu) ?? 0) > 0)) continue;
    picked.push(place);
    free(place, held(place));
  }
  const isEnough = enough();
  if (isEnough)
    for (const place of picked.toReversed()) {
      free(place, -held(place));
      if (enough()) picked = picked.filter((other) => other !== place);
      else free(place, held(place));
    }
  else for (const place of picked) free(place, -held(place));
  return isEnough ? picked : null;
}

/** What a replica is about to give back without being asked. */
function comingMb({ replica, member: { config } }: PlacedReplica): number {
  if (isIn(replica, 'STOPPING', 'RECLAIMING', 'DRAINING')) return config.vramMb;
  const falls = replica.phase.kind === 'SLEEPING' && replica.phase.step === 'falling';
  return falls ? config.vramMb - (config.sleepVramMb ?? config.vramMb) : 0;
}

/** Nobody who works, and nobody whose residency is not over (R4). */
function mayGo(place: PlacedReplica, nowMs: number): boolean {
  const { replica, member } = place;
  const { phase } = replica;
  if (replica.leases.length > 0 || freeAtMs(place) > nowMs) return false;
  if (phase.kind === 'READY') return true;
  if (phase.kind === 'SLEEPING') return phase.step === 'asleep';
  // Whoever makes room is the first in line: what wants to wake up stands behind him.
  if (phase.kind === 'ADMITTING') return true;
  return isIn(replica, 'STARTING', 'WARMING') && member.state.queue.size === 0;
}

/** When its residency is over. */
function freeAtMs({ replica: { phase }, member: { config, state } }: PlacedReplica): number {
  switch (phase.kind) {
    case 'READY':
      return state.retiringUntilMs === null ? phase.readyMs + config.minResidentMs : phase.readyMs;
    case 'STARTING':
    case 'WARMING':
      return Math.max(phase.startedMs, state.requestedAtMs) + config.minResidentMs;
    case 'SLEEPING':
      return phase.step === 'waking' ? phase.sinceMs + state.wakeMs + config.minResidentMs : phase.sinceMs;
    default:
      return Number.NEGATIVE_INFINITY;
  }
}

/** What is lost with it: little when it has rested long and starts fast (R5). */
function evictionCost(
  { replica: { phase }, member: { state, config } }: PlacedReplica,
  nowMs: number,
): number {
  const startMs = expectedStartMs(state.history, config.startBudgetMs);
  if (phase.kind === 'READY') return (startMs + 1) / (Math.max(0, nowMs - phase.idleSinceMs) + 1);
  return phase.kind === 'SLEEPING' || phase.kind === 'ADMITTING' ? 0 : startMs + 1;
}
