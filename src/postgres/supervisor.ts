import { pause } from '../time/clock.ts';
import { ensureRunning } from './adopt-running.ts';
import { messageOf } from './errors.ts';
import type { EmbeddedConnection } from './identity.ts';
import { lockoutOf } from './lockout.ts';
import { type ClusterContext, fastShutdownMs, type Running } from './postmaster.ts';
import { reportWhenSlow } from './progress.ts';
import { removeSocketDir } from './socket-dir.ts';

const backoffMs = { first: 100, last: 5_000, forgottenAfter: 60_000 };

/**
 * Keeps a server running, and open to new connections, until `stop`. Its connection stays the same
 * over restarts.
 */
export class Supervisor {
  readonly connection: EmbeddedConnection;
  readonly #context: ClusterContext;
  readonly #onExit: (reason: string) => void;
  readonly #stopping = new AbortController();
  readonly #watching: Promise<void>;
  #running: Running | null;
  #stopped: Promise<void> | null = null;

  constructor(context: ClusterContext, running: Running, onExit: (reason: string) => void) {
    this.connection = running.connection;
    this.#context = { ...context, socketDir: running.connection.host };
    this.#onExit = onExit;
    this.#running = running;
    this.#watching = this.#watch(running);
  }

  /**
   * Ends the server by a fast shutdown (an immediate one after 20 s) and resolves when it has
   * ended. May be called more than once.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort(new Error('the server is being stopped'));
    if (this.#running !== null) await this.#end(this.#running);
    await this.#watching;
    removeSocketDir(this.#context.socketDir, this.#context.clusterDir);
  }

  async #end(running: Running): Promise<void> {
    const { clock, progress } = this.#context;
    // The child and a clock's timers do not keep Naru running, and this wait must finish.
    const alive = setInterval(() => {}, 1_000);
    const impatience = clock.after(fastShutdownMs, () => running.signal('SIGQUIT'));
    running.signal('SIGINT');
    await reportWhenSlow(running.ended, 'waiting for PostgreSQL to shut down', progress, clock);
    impatience.cancel();
    clearInterval(alive);
  }

  async #watch(first: Running): Promise<void> {
    const { clock, progress } = this.#context;
    const { signal } = this.#stopping;
    let delayMs = backoffMs.first;
    for (let running = first; ; ) {
      const upAt = clock.monotonic();
      const reason = await this.#endOf(running);
      this.#running = null;
      if (signal.aborted) return;
      this.#onExit(reason);
      if (clock.monotonic() - upAt > backoffMs.forgottenAfter) delayMs = backoffMs.first;
      const next = await this.#restart(delayMs);
      if (next === null) return;
      // The restart may have succeeded at the moment of the stop.
      if (signal.aborted) return this.#end(next);
      progress('PostgreSQL runs again');
      delayMs = Math.min(delayMs * 2, backoffMs.last);
      running = next;
      this.#running = next;
    }
  }

  /**
   * Resolves with the reason of the server's end. A server that accepts no new connections any more
   * is ended first.
   */
  async #endOf(running: Running): Promise<string> {
    const { signal } = this.#stopping;
    const lockout = lockoutOf(this.#context, running, signal);
    const reason = await Promise.race([running.ended.then(() => null), lockout]);
    if (reason === null || signal.aborted) return running.ended;
    this.#context.progress(`PostgreSQL takes no new connections, ${reason}: it is restarted`);
    await this.#end(running);
    return `${reason}; ${await running.ended}`;
  }

  /** Retries until the server runs again, or until `stop`: then null. */
  async #restart(firstDelayMs: number): Promise<Running | null> {
    const { signal } = this.#stopping;
    for (let delayMs = firstDelayMs; ; delayMs = Math.min(delayMs * 2, backoffMs.last)) {
      try {
        await pause(this.#context.clock, delayMs, signal);
        return await ensureRunning(this.#context, signal);
      } catch (thrown) {
        if (signal.aborted) return null;
        this.#onExit(messageOf(thrown));
      }
    }
  }
}
