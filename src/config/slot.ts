import type { Secret } from './secret.ts';
import type { Variant } from './variants.ts';

/** A Deployment, and how its API server is asked. */
export interface KubeTarget {
  /** Without a slash at the end. */
  readonly apiUrl: string;
  readonly namespace: string;
  readonly deployment: string;
  /** The pods of a start. */
  readonly replicas: number;
  /** False: somebody else scales it, and Naru asks no API server. */
  readonly manage: boolean;
  /** The credential, else the file to read it from for each call; both null: there is none. */
  readonly token: Secret | null;
  readonly tokenFile: string | null;
  /** The certificates to trust (PEM), else the file they are read from for each call; both null: those of the machine. */
  readonly ca: string | null;
  readonly caFile: string | null;
}

/**
 * How Naru comes by an engine: it runs one on this machine, somebody else runs it and Naru only looks at its health, or it is a
 * Deployment that Naru scales.
 */
export type SlotDriver =
  | {
      readonly kind: 'process';
      /** The command and its arguments; every `{port}` in them, and in the values of `env`, becomes the port of the start. */
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
      /** The root of the Service in front of the pods, without a slash at the end. */
      readonly baseUrl: string;
      readonly healthPath: string;
      readonly k8s: KubeTarget;
    };

/** One slot of the configuration file (spec:operator/2.1, `slots:`), already validated. */
export interface SlotSettings {
  /** Letters, digits, `.`, `_` and `-`: it names a folder. */
  readonly name: string;
  readonly driver: SlotDriver;
  /** Which engine it is; null: not stated. */
  readonly variant: Variant | null;
  /** Where the engine's OpenAI surface begins, such as `/v1`; empty for the root. */
  readonly basePath: string;
  /** The name by which the engine knows its model; null: it does not care. */
  readonly model: string | null;
  /** Answers 200 once the engine can serve. Used by the process driver; an external one has `healthPath`. */
  readonly readyPath: string;
  /** A start that is not ready after this long has failed. */
  readonly startBudgetMs: number;
  /** The engine is stopped after this long without a request in flight or queued; 0: never. */
  readonly idleStopMs: number;
  /** Requests the engine works on at once; the others queue here, without error and without limit (spec:errors/7.7). */
  readonly maxConcurrency: number;
  /** Dealt out evenly among the replicas; each takes `vramMb` of each of its GPUs. */
  readonly gpus: readonly string[];
  readonly vramMb: number;
  /** Engines of this slot at most. */
  readonly replicas: number;
  /** What a ready engine is left before another slot may have its memory. */
  readonly minResidentMs: number;
  /** A ready engine that gave no sign of life for this long is asked for one; 0: never. */
  readonly stallMs: number;
  /** The longest first request, made before clients come; 0: none. */
  readonly warmUpMs: number;
  /** For engines that can sleep; null: it is stopped instead. */
  readonly sleep: SleepSettings | null;
}

/** How an engine is put to sleep and woken: a POST to each path, from the root of the server. */
export interface SleepSettings {
  readonly sleepPath: string;
  readonly wakePath: string;
  /** What it keeps of its memory meanwhile, in MiB of each GPU. */
  readonly vramMb: number;
}
