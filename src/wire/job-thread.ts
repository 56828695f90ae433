import { type Transferable, Worker } from 'node:worker_threads';
import { describeError, type Log } from '../log/log.ts';
import type { Clock, Timer } from '../time/clock.ts';

/** The message to a thread, and its reply, once for each job. */
export interface ThreadJob<Job> {
  readonly id: number;
  readonly job: Job;
}
export interface ThreadResult<Result> {
  readonly id: number;
  readonly result: Result;
}

/** After a thread crashed, no other is started for this long. */
const afterCrashMs = 60_000;

/** The parts of a job thread. */
export interface JobThreadParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly name: string;
  /** Its program: handles each `ThreadJob` in turn and posts its `ThreadAnswer`. */
  readonly script: URL;
  /** A thread that is idle for this long is stopped. */
  readonly idleMs: number;
}

/**
 * One thread for work that would block this one. It starts with the first job, and stops when idle
 * for a while.
 */
export class JobThread<Job, Result> {
  readonly #parts: JobThreadParts;
  #worker: Worker | null = null;
  #idle: Timer | null = null;
  #restMs = Number.NEGATIVE_INFINITY;
  readonly #waiting = new Map<number, (result: Result | null) => void>();
  #lastId = 0;
  #closed = false;

  constructor(parts: JobThreadParts) {
    this.#parts = parts;
  }

  /** Whether the thread is running. */
  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /**
   * Runs a job; null when the thread could not or did not complete it. Never rejects. Transferred
   * values are lost here either way.
   */
  async run(job: Job, transfer: readonly Transferable[] = []): Promise<Result | null> {
    const worker = this.#worker ?? this.#begin();
    if (worker === null) return null;
    this.#idle?.cancel();
    this.#idle = null;
    this.#lastId += 1;
    const message: ThreadJob<Job> = { id: this.#lastId, job };
    return new Promise((resolve) => {
      this.#waiting.set(message.id, resolve);
      worker.postMessage(message, transfer);
    });
  }

  /** Stops the thread; unfinished jobs return null. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#end(this.#worker);
  }

  #begin(): Worker | null {
    const { clock, log, name, script } = this.#parts;
    if (this.#closed || clock.monotonic() < this.#restMs) return null;
    const worker = new Worker(script, { name: `naru ${name}`, env: {}, argv: [], execArgv: [] });
    worker.on('message', ({ id, result }: ThreadResult<Result>) => this.#settle(id, result));
    worker.on('error', (error) => log.warn('thread_failed', { thread: name, error: describeError(error) }));
    worker.on('exit', () => this.#gone(worker));
    this.#worker = worker;
    return worker;
  }

  #settle(id: number, result: Result | null): void {
    const resolve = this.#waiting.get(id);
    if (resolve === undefined) return;
    this.#waiting.delete(id);
    resolve(result);
    if (this.#waiting.size > 0) return;
    this.#idle = this.#parts.clock.after(this.#parts.idleMs, () => void this.#end(this.#worker));
  }

  /** The thread ended unexpectedly. */
  #gone(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#restMs = this.#parts.clock.monotonic() + afterCrashMs;
    this.#forget();
  }

  async #end(worker: Worker | null): Promise<void> {
    if (worker === null) return;
    this.#forget();
    await worker.terminate();
  }

  #forget(): void {
    this.#worker = null;
    for (const id of [...this.#waiting.keys()]) this.#settle(id, null);
    this.#idle?.cancel();
    this.#idle = null;
  }
}
