import type { SlotSettings } from '../config/slot.ts';

/** What the configuration says about all slots. */
export interface SlotsSettings {
  readonly slots: readonly SlotSettings[];
  /** MiB of each GPU that the slots may use together; a GPU that is not in it has no limit. */
  readonly gpus: ReadonlyMap<string, number>;
  /** How long a request waits for a start, unless it says otherwise. */
  readonly coldWaitMs: number;
  /** What is given to requests in flight of slots that change. */
  readonly drainMs: number;
}
