import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { dealOut } from '../../slots/build-slot.ts';
import type { SlotPhase, SlotStatus, Slots } from '../../slots/contract.ts';
import { readSlotReason, type SlotReasonCode, slotReasons } from '../../slots/reasons.ts';
import { type Clock, isoOf } from '../../time/clock.ts';
import { instant } from '../shapes.ts';

/** Why a slot is in its state. */
export const slotReasonShape = z.strictObject({
  code: z
    .enum(Object.keys(slotReasons) as [SlotReasonCode, ...SlotReasonCode[]])
    .nullable()
    .describe('Null: the words of an engine or of Kubernetes'),
  detail: z.string().describe('What the code does not say; without a code the whole reason'),
});

/** A reason as the pages show it; they translate its code. */
export function slotReasonBody(reason: string): z.input<typeof slotReasonShape> {
  return readSlotReason(reason) ?? { code: null, detail: reason };
}

const megabytes = z.int().describe('MiB');

/** A slot with its engines. */
export const slotShape = z.strictObject({
  name: z.string(),
  driver: z.enum(['process', 'external', 'k8s-scale']),
  state: z.string(),
  reason: slotReasonShape,
  pinned: z.boolean(),
  in_flight: z.int(),
  queued: z.int(),
  max_concurrency: z.int().describe('Concurrent requests of each engine'),
  failures: z.int().describe('Consecutive starts that failed, and crashes'),
  starts: z.int().describe('The number of starts since this server started, including failed ones'),
  start_durations_ms: z
    .array(z.number())
    .describe('The durations of the last successful starts, the latest last'),
  vram_mb: megabytes.describe('MiB on each GPU of an engine'),
  replicas: z.array(
    z.strictObject({
      name: z.string(),
      state: z.string(),
      reason: slotReasonShape,
      pid: z.int().nullable(),
      port: z.int().nullable(),
      in_flight: z.int(),
      gpus: z.array(z.string()),
    }),
  ),
});

/** All slots, and the GPUs that they share. */
export const slotsShape = z.strictObject({
  as_of: instant,
  slots: z.array(slotShape),
  gpus: z.array(
    z.strictObject({
      id: z.string(),
      budget_mb: megabytes.nullable().describe('MiB that the slots may use; null: no limit'),
      reserved_mb: megabytes.describe('MiB that the engines of slots occupy'),
      used_mb: megabytes.nullable().describe('MiB in use by any process; null: cannot be read'),
    }),
  ),
});

/** States without an engine. */
const withoutEngine: ReadonlySet<SlotPhase> = new Set(['COLD', 'ADMITTING', 'BACKOFF', 'FAILED']);

/** A slot as the pages show it. */
export function slotBody(status: SlotStatus, { slots }: Config): z.input<typeof slotShape> {
  const settings = slots.find(({ name }) => name === status.name);
  const gpus = settings === undefined ? [] : dealOut(settings.gpus, settings.replicas);
  return {
    name: status.name,
    driver: status.driver,
    state: status.state,
    reason: slotReasonBody(status.reason),
    pinned: status.isPinned,
    in_flight: status.inFlight,
    queued: status.queued,
    max_concurrency: settings?.maxConcurrency ?? 0,
    failures: status.failures,
    starts: status.starts,
    start_durations_ms: [...status.startsMs],
    vram_mb: settings?.vramMb ?? 0,
    replicas: status.replicas.map(({ name, state, reason, pid, port, inFlight }, at) => ({
      name,
      state,
      reason: slotReasonBody(reason),
      pid,
      port,
      in_flight: inFlight,
      gpus: [...(gpus[at] ?? [])],
    })),
  };
}

/** All slots as the pages show them. */
export async function slotsBody({
  slots,
  config: current,
  clock,
  usedGpuMb,
}: {
  readonly slots: Pick<Slots, 'statuses'>;
  readonly config: () => Config;
  readonly clock: Clock;
  readonly usedGpuMb: (gpu: string) => Promise<number | null>;
}): Promise<z.input<typeof slotsShape>> {
  const config = current();
  const shown = slots.statuses().map((status) => slotBody(status, config));
  const budgets = new Map(config.gpus.map(({ id, vramMb }) => [id, vramMb]));
  const ids = new Set([...budgets.keys(), ...config.slots.flatMap(({ gpus }) => gpus)]);
  const gpus = [...ids].map(async (id) => ({
    id,
    budget_mb: budgets.get(id) ?? null,
    reserved_mb: reservedMb(shown, id),
    used_mb: await usedGpuMb(id),
  }));
  return { as_of: isoOf(clock.now()), slots: shown, gpus: await Promise.all(gpus) };
}

function reservedMb(slots: readonly z.input<typeof slotShape>[], gpu: string): number {
  return slots.reduce((sum, { replicas, vram_mb: vramMb }) => {
    const running = replicas.filter(
      ({ gpus, state }) => gpus.includes(gpu) && !withoutEngine.has(state as SlotPhase),
    );
    return sum + running.length * vramMb;
  }, 0);
}
