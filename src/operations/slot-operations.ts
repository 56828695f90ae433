import { describeError, type Log } from '../log/log.ts';
import type { Slots } from '../slots/contract.ts';
import { type AuditContext, recordAfter } from './audited.ts';

/** What operators do to slots, in the console and with commands. Each act is in the audit log. */
export interface SlotOperations {
  start(name: string, reason: string | null): Promise<void>;
  /** Begins to stop it; `ended` resolves when the engine is gone. */
  stop(
    name: string,
    drainMs: number | undefined,
    reason: string | null,
  ): Promise<{ readonly ended: Promise<void> }>;
  pin(name: string, isPinned: boolean, reason: string | null): Promise<void>;
}

/** The names must be those of slots. */
export function slotOperations(
  context: AuditContext & {
    readonly slots: Pick<Slots, 'start' | 'stop' | 'pin' | 'status'>;
    readonly log: Log;
  },
): SlotOperations {
  const { slots, log } = context;
  const record = (act: string, name: string, reason: string | null, before: object, after: object) =>
    recordAfter(context, { act, subject: name, reason, before, after });
  const stateOf = (name: string) => ({ state: slots.status(name).state });
  return {
    start: async (name, reason) => {
      const before = stateOf(name);
      slots.start(name);
      await record('slot.start', name, reason, before, stateOf(name));
    },
    stop: async (name, drainMs, reason) => {
      const before = stateOf(name);
      const ended = slots.stop(name, drainMs);
      ended.catch((error: unknown) => {
        log.error('slot_not_stopped', { slot: name, detail: describeError(error) });
      });
      await record('slot.stop', name, reason, before, { ...stateOf(name), drain_ms: drainMs ?? null });
      return { ended };
    },
    pin: async (name, isPinned, reason) => {
      const before = { pinned: slots.status(name).isPinned };
      slots.pin(name, isPinned);
      await record('slot.pin', name, reason, before, { pinned: isPinned });
    },
  };
}
