import { expectedStartMs } from '../history.ts';
import { slotReason } from '../reasons.ts';
import type { Replica, SlotConfig, SlotState } from './state.ts';
import { isAsleep, isIn } from './transitions.ts';

/** One slot of the fleet. */
export interface Member {
  readonly config: SlotConfig;
  readonly state: SlotState;
  /**
   * The slot whose engines must be gone before this one may start any: its predecessor before a
   * change of settings.
   */
  readonly after: number | null;
}

/** All slots, and the memory they share. A GPU without a budget has no limit. */
export interface FleetState {
  readonly members: ReadonlyMap<number, Member>;
  /** MiB by GPU. */
  readonly budgets: ReadonlyMap<string, number>;
}

/** A planned change of a replica, in this order. */
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

/**
 * The memory that a replica occupies on each of its GPUs, in MiB: follows from its phase alone
 * (design.md, R1).
 */
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

/** The GPU whose whole budget is less than one replica needs; null when there is none. */
export function exceedsBudget(config: SlotConfig, budgets: ReadonlyMap<string, number>): string | null {
  return config.replicas.flat().find((gpu) => config.vramMb > (budgets.get(gpu) ?? config.vramMb)) ?? null;
}

/** The moves that memory requests need now; none when nothing needs to change (design.md, R). */
export function arrange(fleet: FleetState, nowMs: number): readonly Move[] {
  if (!isWanted(fleet)) return [];
  const replicas = placedReplicas(fleet);
  const used = usedMb(fleet);
  const moves: Move[] = [];
  const yields = new Map<Replica, number>();
  /** GPUs that an earlier memory request waits for, and until when. */
  const taken = new Map<string, number>();
  const lacksOf = (placed: PlacedReplica): Map<string, number> =>
    new Map(
      placed.gpus.flatMap((gpu) => {
        const lackMb = (used.get(gpu) ?? 0) + wantedMb(placed) - (fleet.budgets.get(gpu) ?? never);
        return lackMb > 0 ? [[gpu, lackMb] as const] : [];
      }),
    );
  const admit = (placed: PlacedReplica): void => {
    moves.push({ kind: 'admit', slot: placed.slot, at: placed.at });
    for (const gpu of placed.gpus) used.set(gpu, (used.get(gpu) ?? 0) + wantedMb(placed));
  };
  for (const placed of waitingReplicas(replicas)) {
    const { member, gpus } = placed;
    if (member.after !== null && fleet.members.has(member.after)) {
      reserveLater(placed, nowMs, moves);
      continue;
    }
    const aheadMs = Math.max(0, ...gpus.map((gpu) => taken.get(gpu) ?? 0));
    const lacks = lacksOf(placed);
    if (aheadMs === 0 && lacks.size === 0) {
      admit(placed);
      continue;
    }
    let roomAtMs = aheadMs;
    if (aheadMs === 0) {
      const plan = makeRoom(placed, lacks, replicas, nowMs);
      roomAtMs = plan.atMs;
      const why = slotReason('makes_room', [...lacks.keys()].join(', '));
      for (const victim of plan.evict) moves.push({ kind: 'evict', slot: victim.slot, at: victim.at, why });
      const sinceMs = placed.replica.phase.kind === 'ADMITTING' ? placed.replica.phase.sinceMs : nowMs;
      for (const resident of plan.yielding) yields.set(resident.replica, sinceMs);
    }
    const { startBudgetMs, minResidentMs } = member.config;
    const doneMs = roomAtMs + expectedStartMs(member.state.history, startBudgetMs) + minResidentMs;
    for (const gpu of gpus) if (fleet.budgets.has(gpu)) taken.set(gpu, doneMs);
    reserveLater(placed, roomAtMs, moves);
  }
  for (const placed of replicas) {
    if (wantsMore(placed.member, placed.at) && placed.gpus.every((gpu) => !taken.has(gpu)))
      if (lacksOf(placed).size === 0) {
        admit(placed);
        break; // One at a time: the next pass counts it.
      }
  }
  for (const { replica, slot, at } of replicas) {
    const fromMs = yields.get(replica) ?? never;
    if (replica.phase.kind === 'READY' && replica.phase.yieldsFromMs !== fromMs)
      moves.push({ kind: 'stop-admitting', slot, at, fromMs });
  }
  return moves;
}

/**
 * Whether a replica requests memory, or an eviction is pending that is no longer needed. Most
 * events find neither.
 */
function isWanted({ members }: FleetState): boolean {
  for (const { state } of members.values()) {
    if (state.queue.size > 0 && state.replicas.length > 1) return true;
    for (const { phase } of state.replicas)
      if (phase.kind === 'ADMITTING' || (phase.kind === 'READY' && phase.yieldsFromMs !== never)) return true;
  }
  return false;
}

/**
 * The time when the planner must act without an event: the end of a residency. Infinite for never.
 */
export function roomWakeAtMs(fleet: FleetState, nowMs: number): number {
  let atMs = never;
  for (const { state } of fleet.members.values())
    for (const { phase } of state.replicas)
      if (phase.kind === 'ADMITTING' && phase.roomAtMs > nowMs) atMs = Math.min(atMs, phase.roomAtMs);
  return atMs;
}

const never = Number.POSITIVE_INFINITY;

function placedReplicas({ members }: FleetState): readonly PlacedReplica[] {
  const replicas: PlacedReplica[] = [];
  for (const [slot, member] of members)
    for (const [at, replica] of member.state.replicas.entries())
      replicas.push({ slot, at, replica, member, gpus: member.config.replicas[at] ?? [] });
  return replicas;
}

/** The replicas that request memory, the earliest first (R3). */
function waitingReplicas(replicas: readonly PlacedReplica[]): readonly PlacedReplica[] {
  const since = ({ replica: { phase } }: PlacedReplica): number =>
    phase.kind === 'ADMITTING' ? phase.sinceMs : 0;
  return replicas.filter(({ replica }) => isIn(replica, 'ADMITTING')).toSorted((a, b) => since(a) - since(b));
}

/** The memory it requests beyond what it occupies. */
function wantedMb({ replica, member: { config } }: PlacedReplica): number {
  return config.vramMb - occupiedMb(replica, config);
}

/** Whether a serving slot has more work than lanes, and this replica could help (R7). */
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

/**
 * The replicas to evict so that enough memory is free, all or none; else those to stop admitting,
 * and when there may be enough.
 */
function makeRoom(
  applicant: PlacedReplica,
  lacks: ReadonlyMap<string, number>,
  replicas: readonly PlacedReplica[],
  nowMs: number,
): {
  readonly evict: readonly PlacedReplica[];
  readonly yielding: readonly PlacedReplica[];
  readonly atMs: number;
} {
  const left = new Map(lacks);
  const free = (placed: PlacedReplica, mb: number): void => {
    for (const gpu of placed.gpus) if (left.has(gpu)) left.set(gpu, (left.get(gpu) ?? 0) - mb);
  };
  const enough = (): boolean => [...left.values()].every((mb) => mb <= 0);
  for (const placed of replicas) free(placed, comingMb(placed));
  if (enough()) return { evict: [], yielding: [], atMs: nowMs };
  const residents = replicas
    .filter((placed) => placed.slot !== applicant.slot && placed.gpus.some((gpu) => (left.get(gpu) ?? 0) > 0))
    .filter((placed) => occupiedMb(placed.replica, placed.member.config) > comingMb(placed));
  const evictable = residents
    .filter((placed) => mayEvict(placed, nowMs))
    .toSorted((a, b) => evictionCost(a, nowMs) - evictionCost(b, nowMs));
  const picked = pick(evictable, left, free, enough);
  if (picked !== null) return { evict: picked, yielding: [], atMs: nowMs };
  const inTime = residents
    .map((placed) => ({ placed, freeMs: Math.max(nowMs, freeAtMs(placed)) }))
    .toSorted((a, b) => a.freeMs - b.freeMs || evictionCost(a.placed, nowMs) - evictionCost(b.placed, nowMs));
  const rest = new Map(left);
  const chosen = inTime.filter(({ placed }) => {
    const helps = placed.gpus.some((gpu) => (rest.get(gpu) ?? 0) > 0);
    const mb = occupiedMb(placed.replica, placed.member.config) - comingMb(placed);
    if (helps) for (const gpu of placed.gpus) rest.set(gpu, (rest.get(gpu) ?? 0) - mb);
    return helps;
  });
  return {
    evict: [],
    yielding: chosen.filter(({ freeMs }) => freeMs <= nowMs).map(({ placed }) => placed),
    atMs: Math.max(...chosen.map(({ freeMs }) => freeMs), nowMs),
  };
}

/**
 * The first of `replicas` that suffice together, without those that turn out to be unnecessary;
 * null when all do not suffice.
 */
function pick(
  replicas: readonly PlacedReplica[],
  left: ReadonlyMap<string, number>,
  free: (placed: PlacedReplica, mb: number) => void,
  enough: () => boolean,
): readonly PlacedReplica[] | null {
  const held = (placed: PlacedReplica): number =>
    occupiedMb(placed.replica, placed.member.config) - comingMb(placed);
  let picked: PlacedReplica[] = [];
  for (const placed of replicas) {
    if (enough()) break;
    if (!placed.gpus.some((gpu) => (left.get(gpu) ?? 0) > 0)) continue;
    picked.push(placed);
    free(placed, held(placed));
  }
  const isEnough = enough();
  if (isEnough)
    for (const placed of picked.toReversed()) {
      free(placed, -held(placed));
      if (enough()) picked = picked.filter((other) => other !== placed);
      else free(placed, held(placed));
    }
  else for (const placed of picked) free(placed, -held(placed));
  return isEnough ? picked : null;
}

/** The memory that a replica is about to release by itself. */
function comingMb({ replica, member: { config } }: PlacedReplica): number {
  if (isIn(replica, 'STOPPING', 'RECLAIMING', 'DRAINING')) return config.vramMb;
  const falls = replica.phase.kind === 'SLEEPING' && replica.phase.step === 'falling';
  return falls ? config.vramMb - (config.sleepVramMb ?? config.vramMb) : 0;
}

/** No replica that works, and none whose residency is not over (R4). */
function mayEvict(placed: PlacedReplica, nowMs: number): boolean {
  const { replica, member } = placed;
  const { phase } = replica;
  if (replica.leases.length > 0 || freeAtMs(placed) > nowMs) return false;
  if (phase.kind === 'READY') return true;
  if (phase.kind === 'SLEEPING') return phase.step === 'asleep';
  // The caller is first in line: replicas that want to wake up come after it.
  if (phase.kind === 'ADMITTING') return true;
  return isIn(replica, 'STARTING', 'WARMING') && member.state.queue.size === 0;
}

/** The end of its residency. */
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

/** The cost of its eviction: low when it has been idle for long and starts fast (R5). */
function evictionCost(
  { replica: { phase }, member: { state, config } }: PlacedReplica,
  nowMs: number,
): number {
  const startMs = expectedStartMs(state.history, config.startBudgetMs);
  if (phase.kind === 'READY') return (startMs + 1) / (Math.max(0, nowMs - phase.idleSinceMs) + 1);
  return phase.kind === 'SLEEPING' || phase.kind === 'ADMITTING' ? 0 : startMs + 1;
}
