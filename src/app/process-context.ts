import type { WorkerProcess } from './workers/ipc.ts';

/** What `main.ts` hands down of the process: nothing else reads it. */
export interface ProcessContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly uid: number;
  /** Whether a person watches stderr. */
  readonly isWatched: boolean;
  /** The program that runs us: engines of the box run on it too. */
  readonly nodePath: string;
  /** The version of the program that runs us, such as `26.10.0`. */
  readonly nodeVersion: string;
  /** The project's own folder: default configuration and data stand in it. */
  readonly root: string;
  /** Where relative paths of the command line begin. */
  readonly cwd: string;
  readonly out: (text: string) => Promise<void>;
  readonly err: (text: string) => void;
  readonly kill: (pid: number, signal: 'SIGTERM' | 'SIGKILL' | 0) => void;
  /** Calls `stop` for every request to end: the first asks for a drain, a second is in a hurry. Returns how to stop listening. */
  readonly onStop: (stop: () => void) => () => void;
  /** Calls `reload` for every request to read the configuration again. Returns how to stop listening. */
  readonly onReload: (reload: () => void) => () => void;
  /**
   * Calls `crash` for every error that nothing caught. The process goes on: ending it is up to `crash`. `origin` is `uncaughtException` or
   * `unhandledRejection`. Returns how to stop listening.
   */
  readonly onUncaught: (crash: (error: unknown, origin: string) => void) => () => void;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  /** Tells the process that supervises this one that it serves: from then on a crash leads to a restart. */
  readonly reportServing: () => void;
  /** Starts another process of ours, which shares the port it listens on with its siblings and ends when this one does. */
  readonly forkWorker: () => WorkerProcess;
}
