import type { Secret } from './secret.ts';
import type { Variant } from './variants.ts';

/** A Deployment, and the access to its API server. */
export interface KubeTarget {
  /** Without a trailing slash. */
  readonly apiUrl: string;
  readonly namespace: string;
  readonly deployment: string;
  /** The number of pods to start. */
  readonly replicas: number;
  /** False: something else scales it, and Naru calls no API server. */
  readonly manage: boolean;
  /** The credential, else the file to read it from for each call; both null: none. */
  readonly token: Secret | null;
  readonly tokenFile: string | null;
  /**
   * The certificates to trust (PEM), else the file to read them from for each call; both null:
   * those of the operating system.
   */
  readonly ca: string | null;
  readonly caFile: string | null;
}

/**
 * How Naru gets an engine: it runs one on this machine, someone else runs it and Naru only checks
 * its health, or it is a Deployment that Naru scales.
 */
export type SlotDriver =
  | {
      readonly kind: 'process';
      /**
       * The command and its arguments; every `{port}` in them, and in the values of `env`, becomes
       * the port of the start.
       */
      readonly command: readonly string[];
      /** The whole environment of the engine, PATH included: nothing is inherited. */
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string;
    }
  | {
      readonly kind: 'external';
      /** The root of the server; `healthPath` and the slot's `basePath` are appended to it. */
      readonly baseUrl: string;
      readonly healthPath: string;
    }
  | {
      readonly kind: 'k8s-scale';
      /** The root of the Service in front of the pods, without a trailing slash. */
      readonly baseUrl: string;
      readonly healthPath: string;
      readonly k8s: KubeTarget;
    };

/** One slot of the configuration file (spec:operator/2.1, `slots:`), already validated. */
export interface SlotSettings {
  /** Letters, digits, `.`, `_` and `-`: it is also a folder name. */
  readonly name: string;
  readonly driver: SlotDriver;
  /** The kind of engine; null: not stated. */
  readonly variant: Variant | null;
  /** The path of the engine's OpenAI API, such as `/v1`; empty for the root. */
  readonly basePath: string;
  /** The engine's name for its model; null: any name works. */
  readonly model: string | null;
  /** Sent to the engine as a bearer token; null: it asks for none. */
  readonly apiKey: Secret | null;
  /**
   * Returns 200 once the engine is ready. Used by the process driver; an external one has
   * `healthPath`.
   */
  readonly readyPath: string;
  /** A start that is not ready after this long has failed. */
  readonly startBudgetMs: number;
  /** The engine is stopped after this long without a request in flight or queued; 0: never. */
  readonly idleStopMs: number;
  /**
   * Requests that the engine processes at once; others queue here, without error and without limit
   * (spec:errors/7.7).
   */
  readonly maxConcurrency: number;
  /** Dealt out evenly among the replicas; each uses `vramMb` of each of its GPUs. */
  readonly gpus: readonly string[];
  readonly vramMb: number;
  /** The maximum number of engines of this slot. */
  readonly replicas: number;
  /** The minimum time that a ready engine keeps its memory when another slot wants it. */
  readonly minResidentMs: number;
  /** A ready engine without activity for this long is probed; 0: never. */
  readonly stallMs: number;
  /**
   * The maximum duration of the warm-up request before the engine serves clients; 0: no warm-up.
   */
  readonly warmUpMs: number;
  /** For engines that can sleep; null: it is stopped instead. */
  readonly sleep: SleepSettings | null;
}

/** How an engine is put to sleep and woken: a POST to each path, from the root of the server. */
export interface SleepSettings {
  readonly sleepPath: string;
  readonly wakePath: string;
  /** The memory that it keeps during sleep, in MiB of each GPU. */
  readonly vramMb: number;
}
