import type { InheritedSocket } from '../http/serve.ts';
import type { WorkerProcess } from './workers/ipc.ts';

/** The process as `main.ts` provides it; nothing else reads `process`. */
export interface ProcessContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly uid: number;
  /** The system user and the host, `user@host`, for the audit log. */
  readonly user: string;
  /** The processor cores that this process may use. */
  readonly cores: number;
  /** Whether stderr is a terminal. */
  readonly isWatched: boolean;
  /** Whether stdout is a terminal. */
  readonly isTerminal: boolean;
  /** The Node executable; the demo engine runs on it too. */
  readonly nodePath: string;
  /** The version of Naru. */
  readonly version: string;
  /** The version of Node, such as `26.10.0`. */
  readonly nodeVersion: string;
  /** The folder of the program. */
  readonly root: string;
  /** The folder of `naru.yaml` and `.naru`, unless the command line or the environment names others. */
  readonly home: string;
  /** The listening socket that systemd passed to the launcher; null: the server opens one. */
  readonly socket: InheritedSocket | null;
  /** The folder that relative paths of the command line refer to. */
  readonly cwd: string;
  readonly out: (text: string) => Promise<void>;
  readonly err: (text: string) => void;
  /** Receives what a command does now, for people who wait; null when it has printed its result. */
  readonly progress?: (step: string | null) => void;
  readonly kill: (pid: number, signal: 'SIGTERM' | 'SIGKILL' | 0) => void;
  /**
   * Calls `stop` for every stop signal: the first starts a drain, the second aborts it. Returns a
   * function that unsubscribes.
   */
  readonly onStop: (stop: () => void) => () => void;
  /** Calls `reload` for every SIGHUP. Returns a function that unsubscribes. */
  readonly onReload: (reload: () => void) => () => void;
  /**
   * Calls `crash` for every uncaught error. The process continues; `crash` must end it. `origin` is
   * `uncaughtException` or `unhandledRejection`. Returns a function that unsubscribes.
   */
  readonly onUncaught: (crash: (error: unknown, origin: string) => void) => () => void;
  /** Calls `warn` for every warning of Node. Returns a function that unsubscribes. */
  readonly onWarning: (warn: (warning: Error) => void) => () => void;
  /** Ends the process immediately. */
  readonly exit: (code: number) => void;
  /**
   * Reports to the supervising process that this one serves: from then on a crash leads to a
   * restart.
   */
  readonly reportServing: () => void;
  /**
   * Forks a worker process, which shares its port with its siblings and ends when this process
   * does.
   */
  readonly forkWorker: () => WorkerProcess;
}
