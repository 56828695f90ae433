import type { SlotStatus } from '../../slots/contract.ts';

/** The states of the slots of this machine. */
export interface SlotReading {
  readonly statuses: readonly SlotStatus[];
  readonly asOfMs: number;
  /** The process that has the slots does not respond: this is what it reported last. */
  readonly isStale: boolean;
}
