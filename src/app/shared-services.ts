import type { Config } from '../config/config.ts';
import { RateLimit } from '../http/rate-limit.ts';
import type { Log } from '../log/log.ts';
import { type MetricData, Registry, readRegistry } from '../metrics/registry.ts';
import type { Processes } from '../slots/drivers/processes.ts';
import { SlotMetrics } from '../slots/metrics.ts';
import { createSlots, type Slots, type SlotsSettings } from '../slots/slots.ts';
import type { Clock } from '../time/clock.ts';

/** The parts of the shared services. */
export interface SharedServicesParts {
  readonly config: Config;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly processes: Processes;
}

/**
 * What a server has once, whatever the number of its workers: the configuration in effect, the
 * engines and the rate of each client.
 */
export class SharedServices {
  readonly slots: Slots;
  readonly rate: RateLimit;
  readonly #metrics: Registry;
  #config: Config;

  private constructor(slots: Slots, metrics: Registry, { config, clock }: SharedServicesParts) {
    this.slots = slots;
    this.#metrics = metrics;
    this.#config = config;
    this.rate = new RateLimit(() => {
      const { requestsPerSecond: perSecond, burst } = this.#config.limits;
      return { perSecond, burst };
    }, clock);
  }

  /** Stops the engines of an earlier server in this data directory, and starts its own. */
  static async open(parts: SharedServicesParts): Promise<SharedServices> {
    const metrics = new Registry();
    const observer = new SlotMetrics(metrics);
    const slots = await createSlots({ ...parts, settings: slotSettings(parts.config), observer });
    observer.show(() => slots.statuses());
    return new SharedServices(slots, metrics, parts);
  }

  /** The configuration in effect. */
  get config(): Config {
    return this.#config;
  }

  /**
   * Prepares another configuration; rejects one that the slots cannot follow. The result puts it
   * into effect.
   */
  async prepare(next: Config): Promise<() => void> {
    const follow = await this.slots.prepare(slotSettings(next));
    return () => {
      this.#config = next;
      follow();
    };
  }

  metrics(): Promise<readonly MetricData[]> {
    return readRegistry(this.#metrics);
  }

  close(): Promise<void> {
    return this.slots.close();
  }
}

/** The parts of the slots. */
function slotSettings({ slots, gpus, limits }: Pick<Config, 'slots' | 'gpus' | 'limits'>): SlotsSettings {
  return {
    slots,
    gpus: new Map(gpus.map(({ id, vramMb }) => [id, vramMb])),
    coldWaitMs: limits.coldWaitMs,
    drainMs: limits.drainTimeoutMs,
  };
}
