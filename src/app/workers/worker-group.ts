import type { Config } from '../../config/config.ts';
import type { ControlHandler } from '../../http/control/serve.ts';
import type { RateLimit } from '../../http/rate-limit.ts';
import type { Identity } from '../../identity/identity.ts';
import type { ProbeReport } from '../../inference/probe-candidate.ts';
import type { Log } from '../../log/log.ts';
import type { MetricData } from '../../metrics/registry.ts';
import type { FiguresOfProcess } from '../../pages/console/live-figures.ts';
import type { WorkOfProcess } from '../../pages/console/open-work-body.ts';
import type { Slots } from '../../slots/contract.ts';
import type { Database } from '../../store/database.ts';
import type { FollowingClock } from '../../time/clock.ts';
import type { Published } from '../apply-changes.ts';
import type { GatewayParts } from '../gateway-core.ts';
import type { Pages } from '../pages.ts';

/** What the workers of a server use, and whom they notify. */
export interface WorkerServices extends Pick<GatewayParts, 'journal' | 'tokens'> {
  /** The one in effect: a worker that starts later gets it too. */
  readonly config: () => Config;
  readonly database: Database;
  readonly dataDir: string;
  readonly clock: FollowingClock;
  readonly log: Log;
  readonly slots: Slots;
  readonly rate: RateLimit;
  /** Those of this process. */
  readonly pages: Pages;
  readonly identity: Identity;
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
export interface WorkerGroup {
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
  /** What the console shows of each process that serves. */
  figures(): Promise<readonly FiguresOfProcess[]>;
  /** The requests in flight of each process, and what it has not settled. */
  openWork(): Promise<readonly WorkOfProcess[]>;
  /** Calls a candidate for a test, from one process; null when there is none. */
  probe(model: string, candidate: string): Promise<readonly ProbeReport[] | null>;
  /** The number of processes that serve when all are well. */
  readonly size: number;
  /** Handles `/route` and `/route/health` of the control socket. */
  readonly routeReports: ControlHandler;
  /** Drains for at most `drainMs`, or until `abort` does; resolves when all have ended. */
  stop(drainMs: number, abort: AbortSignal): Promise<void>;
}
