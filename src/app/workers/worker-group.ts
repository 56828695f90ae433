import type { Config } from '../../config/config.ts';
import type { RateLimit } from '../../http/rate-limit.ts';
import type { MetricData } from '../../metrics/registry.ts';
import type { ServingProcesses } from '../../pages/context.ts';
import type { Slots } from '../../slots/contract.ts';
import type { Published } from '../apply-changes.ts';
import type { GatewayParts } from '../gateway-core.ts';

/** What the workers of a server use, and whom they notify. */
export interface WorkerServices
  extends Pick<
    GatewayParts,
    'database' | 'dataDir' | 'version' | 'clock' | 'log' | 'pages' | 'identity' | 'journal' | 'tokens'
  > {
  /** The one in effect: a worker that starts later gets it too. */
  readonly config: () => Config;
  readonly slots: Slots;
  readonly rate: RateLimit;
  /** An edition was published: the server must reload its configuration. */
  readonly onPublished: (publication: Published) => void;
  /** Another process took over the identity of a worker: the server must stop. */
  readonly onSuperseded: (message: string) => void;
  /** The database lost commits that this process saw: the process must be replaced. */
  readonly onHistoryChanged: () => void;
}

/**
 * The workers of a server: one gateway in this process, or several processes that share the port
 * (docs/decisions/workers.md).
 */
export interface WorkerGroup extends ServingProcesses {
  /**
   * Starts to load the program of the gateway, which takes as long as the database needs to become
   * ready.
   */
  load(): void;
  /** The directories with the journals of its workers. */
  directories(dataDir: string): readonly string[];
  /** Starts to serve; resolves with the port, rejects when a worker cannot serve. */
  serve(services: WorkerServices): Promise<number>;
  /**
   * Applies another configuration. `prepare` prepares what the workers share; the function that it
   * resolves with is called at the moment of the change. Rejects and changes nothing when a
   * worker rejects it.
   */
  reload(next: Config, prepare: () => Promise<() => void>): Promise<void>;
  /** The number of requests in flight. */
  inFlight(): Promise<number>;
  /** The number of settlements that are not in the database yet. */
  backlog(): Promise<number>;
  /** Resolves when every settlement until now is in the database. */
  caughtUp(): Promise<void>;
  /** The metrics of the workers and of this process. */
  metrics(): Promise<readonly (readonly MetricData[])[]>;
  /** Drains for at most `drainMs`, or until `abort` does; resolves when all have ended. */
  stop(drainMs: number, abort: AbortSignal): Promise<void>;
}
