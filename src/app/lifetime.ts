import type { Config } from '../config/config.ts';
import { type Notice, openServerLog, type ServerLog } from '../log/server-log.ts';
import type { DataDirLock } from '../postgres/data-dir-lock.ts';
import { systemClock } from '../time/clock.ts';
import { guardAgainstCrash } from './crash-guard.ts';
import type { ProcessContext } from './process-context.ts';
import type { FollowedConfiguration } from './running-configuration.ts';
import { Shutdown } from './shutdown.ts';

/** The parts of `naru up`. */
export interface Serving {
  readonly config: Config;
  /** Reads the configuration again; throws an `OperatorError` that lists its faults. */
  readonly readAgain: () => Config;
  /** The same, and keeps nothing of it: to compare it with what is published. */
  readonly review: () => Config;
  readonly configuration: FollowedConfiguration;
  readonly dataDir: string;
  readonly lock: DataDirLock;
  /** The number of processes that share the port; 1: this process serves. */
  readonly workers: number;
  readonly json: boolean;
  readonly proc: ProcessContext;
  readonly notice: Notice;
}

/**
 * How long this process serves, with which log, and the exit code: signals, uncaught errors, a lost
 * identity.
 */
export class Lifetime {
  readonly shutdown = new Shutdown();
  readonly output: ServerLog;
  readonly #notice: Notice;
  readonly #guard: ReturnType<typeof guardAgainstCrash>;
  readonly #unsubscribe: () => void;
  /** Has the limits in effect. */
  #server: Pick<Config, 'limits'>;
  #exitCode = 0;

  constructor({ config, dataDir, proc, notice }: Serving) {
    this.#notice = notice;
    this.#server = config;
    this.#unsubscribe = proc.onStop(this.shutdown.onSignal);
    this.output = openServerLog(proc, { dataDir, level: config.log.level, notice });
    this.#guard = guardAgainstCrash({
      proc,
      clock: systemClock,
      log: this.output.log,
      flush: this.output.flush,
      drainMs: () => this.#server.limits.crashDrainTimeoutMs,
      stop: this.shutdown.request,
      cut: this.shutdown.abort,
    });
  }

  /** Sets where the limits in effect are read from. */
  follow(server: Pick<Config, 'limits'>): void {
    this.#server = server;
  }

  /** Stops this process with exit code 1. */
  readonly fail = (message: string): void => {
    if (this.#exitCode === 0) this.#notice('server_failed', message, 'error');
    this.#exitCode = 1;
    this.shutdown.request();
  };

  /** Stops this process with exit code 75, so that its supervisor starts another one. */
  restart(reason: string): void {
    const message = `${reason}; this process exits so that its supervisor starts a new one`;
    this.#notice('server_restarts', message, 'error');
    this.#guard.restart();
  }

  /** The exit code if the process stopped now. */
  exitCode(): number {
    return Math.max(this.#exitCode, this.#guard.exitCode());
  }

  /** Unsubscribes from signals and errors, and closes the log. */
  release(): void {
    this.#unsubscribe();
    this.#guard.release();
    this.output.close();
  }
}
