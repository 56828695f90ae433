import type { SlotSettings } from '../config/config.ts';

/** The configuration of all slots. */
export interface SlotsSettings {
  readonly slots: readonly SlotSettings[];
  /** MiB of each GPU that the slots may use together; a GPU without an entry has no limit. */
  readonly gpus: ReadonlyMap<string, number>;
  /** How long a request waits for a start, unless it sets its own. */
  readonly coldWaitMs: number;
  /** The time that requests in flight have when their slot changes. */
  readonly drainMs: number;
}
