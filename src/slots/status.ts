import type { ReplicaStatus, SlotPhase, SlotStatus } from './contract.ts';
import type { SlotState } from './scheduler/state.ts';

/** From serving to doing nothing. */
const nearness: readonly SlotPhase[] = [
  'READY',
  'WARMING',
  'STARTING',
  'SLEEPING',
  'ADMITTING',
  'DRAINING',
  'STOPPING',
  'RECLAIMING',
  'BACKOFF',
  'FAILED',
  'COLD',
];

/** A slot, as the operator sees it. */
export function statusOfSlot(
  name: string,
  driver: SlotStatus['driver'],
  state: SlotState,
): Omit<SlotStatus, 'isPinned'> {
  const replicas = state.replicas.map(
    ({ phase, reason, engine, leases }, at): ReplicaStatus => ({
      name: state.replicas.length > 1 ? `${name}#${at + 1}` : name,
      state: phase.kind,
      reason,
      pid: engine?.pid ?? null,
      port: engine?.port ?? null,
      inFlight: leases.length,
    }),
  );
  const rank = (replica: ReplicaStatus): number => nearness.indexOf(replica.state);
  const first = replicas.toSorted((a, b) => rank(a) - rank(b))[0];
  return {
    name,
    driver,
    state: first?.state ?? 'COLD',
    reason: first?.reason ?? '',
    pid: first?.pid ?? null,
    port: first?.port ?? null,
    inFlight: replicas.reduce((sum, { inFlight }) => sum + inFlight, 0),
    queued: state.queue.size,
    failures: Math.min(
      ...state.replicas.map(({ phase, failures }) => (phase.kind === 'READY' ? 0 : failures)),
    ),
    starts: state.epoch,
    lastStartMs: state.history.at(-1) ?? null,
    startsMs: state.history,
    replicas,
  };
}
