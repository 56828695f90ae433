import type { ControlResponse } from '../../http/control/serve.ts';
import type { ProbeReport } from '../../inference/probe-candidate.ts';
import type { MetricData } from '../../metrics/registry.ts';
import type { LiveFigures } from '../../pages/console/live-figures.ts';
import type { OpenWork } from '../../pages/console/open-work-body.ts';
import type { EngineNews, SlotFailed, SlotLease, SlotLoading, SlotStatus } from '../../slots/contract.ts';
import type { DatabaseAddress } from '../../store/connection.ts';
import type { Published } from '../apply-changes.ts';
import type { IpcChannel } from './ipc.ts';

/** The message with which a parent starts a worker. */
export interface WorkerStartMessage {
  readonly worker: number;
  /** See `encodeConfig`. */
  readonly config: string;
  readonly database: DatabaseAddress;
  /** The number of workers on this machine. */
  readonly workers: number;
  readonly poolSize: number;
  readonly home: string;
}

/** A request of an operator's command for `/route` or `/route/health`. */
export interface RouteRequest {
  readonly method: string;
  readonly path: readonly string[];
  readonly query: string;
}

/** A request for a lane. */
export interface LaneOrder {
  readonly id: number;
  readonly name: string;
  readonly accountId: number;
  readonly coldWaitMs: number | null;
}

/** A lease on the channel: the parent keeps the lane under the id of the order. */
export type GrantedLane = Pick<SlotLease, 'kind' | 'baseUrl' | 'model'> | SlotLoading | SlotFailed;

/** What a parent sends to a worker. */
export interface ToWorker {
  /** Starts the worker; responds when it serves. */
  serve(order: WorkerStartMessage): { readonly port: number };
  /** Applies an encoded configuration. */
  reload(config: string): void;
  /** Drains; responds when everything is settled. */
  stop(): void;
  /** Ends the drain at once. */
  abort(): void;
  'in-flight'(): number;
  metrics(): readonly MetricData[];
  figures(): LiveFigures;
  'open-work'(): OpenWork;
  probe(of: { readonly model: string; readonly candidate: string }): readonly ProbeReport[] | null;
  /** Responds when every settlement until now is in the database. */
  'caught-up'(): void;
  backlog(): number;
  /** Handles a request that the control socket of the parent received. */
  route(request: RouteRequest): ControlResponse;
  'slots.lost'(id: number): void;
  'slots.news'(news: EngineNews): void;
}

/** What a worker sends to its parent. */
export interface ToParent {
  /** The last message of a worker; when it is acknowledged, all earlier ones have arrived. */
  flush(): null;
  /** Lines of the log. */
  log(text: string): void;
  /** An edition was published. */
  published(publication: Published): void;
  /** Another process took over the identity of the worker. */
  superseded(message: string): void;
  /** Takes a token for each client; responds with the seconds that each has to wait. `max`: of a minute. */
  'rate.take'(
    requests: readonly { readonly client: string; readonly max: number | null }[],
  ): readonly (number | null)[];
  /** Responds with the states of the slots. */
  'slots.statuses'(): readonly SlotStatus[];
  'slots.acquire'(order: LaneOrder): GrantedLane;
  'slots.release'(lane: {
    readonly id: number;
    readonly outcome?: Parameters<SlotLease['release']>[0];
  }): void;
  'slots.touch'(id: number): void;
  'slots.leave'(id: number): void;
}

/** The end of a parent, one for each worker. */
export type WorkerChannel = IpcChannel<ToWorker, ToParent>;
/** The end of a worker. */
export type ParentChannel = IpcChannel<ToParent, ToWorker>;
