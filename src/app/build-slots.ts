import type { Config } from '../config/config.ts';
import type { SlotsSettings } from '../slots/slots.ts';

/** The parts of the slots. */
export function slotSettings({
  slots,
  gpus,
  limits,
}: Pick<Config, 'slots' | 'gpus' | 'limits'>): SlotsSettings {
  return {
    slots,
    gpus: new Map(gpus.map(({ id, vramMb }) => [id, vramMb])),
    coldWaitMs: limits.coldWaitMs,
    drainMs: limits.drainTimeoutMs,
  };
}
