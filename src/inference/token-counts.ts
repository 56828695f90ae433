import { Worker } from 'node:worker_threads';
import { describeError, type Log } from '../log/log.ts';
import type { Clock, Timer } from '../time/clock.ts';
import { countTexts } from './count-tokens.ts';

/** What the thread is asked, and what it answers. */
export interface CountJob {
  readonly id: number;
  readonly texts: readonly string[];
  readonly enough: number;
}
export interface CountedJob {
  readonly id: number;
  readonly tokens: number;
}

/** Texts from this length on are counted in a thread: 256 kB are about 60 ms of work. */
const longLength = 262_144;
/** More characters than this are not kept waiting for the thread: the rest is counted here, in turns. */
const mostWaiting = 64 * 1024 * 1024;
/** A thread that has had nothing to do for this long is ended: it holds some 60 MB of tokenizer. */
const idleMs = 60_000;
/** After a thread died no other is begun for this long. */
const afterCrashMs = 60_000;

interface Waiting {
  readonly length: number;
  readonly resolve: (tokens: number | null) => void;
}

/**
 * Counts tokens: short texts in this thread, long ones in another, so that requests beside them never wait. The thread begins with
 * the first long text. When it dies, or has too much to do, the count is made here all the same: nothing ever fails for it.
 */
export class TokenCounts {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #script: URL;
  #worker: Worker | null = null;
  #idle: Timer | null = null;
  #restMs = Number.NEGATIVE_INFINITY;
  readonly #waiting = new Map<number, Waiting>();
  #waitingLength = 0;
  #lastId = 0;
  #closed = false;

  /** `script` is the thread's program. */
  constructor(
    { clock, log }: { readonly clock: Clock; readonly log: Log },
    script = new URL('./token-worker.ts', import.meta.url),
  ) {
    this.#clock = clock;
    this.#log = log;
    this.#script = script;
  }

  /** Whether a thread is there. */
  get hasThread(): boolean {
    return this.#worker !== null;
  }

  /** Our own count of the texts; may stop once it is above `enough`. Never rejects but for what the texts themselves throw. */
  async count(texts: Iterable<string>, enough = Number.POSITIVE_INFINITY): Promise<number> {
    const all = [...texts];
    const length = all.reduce((sum, text) => sum + text.length, 0);
    const counted = length < longLength ? null : await this.#elsewhere(all, length, enough);
    return counted ?? countTexts(all, enough);
  }

  /** Ends the thread; what it had not counted is counted by whoever waits for it. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#end(this.#worker);
  }

  /** Null when the thread cannot or did not do it. */
  #elsewhere(texts: readonly string[], length: number, enough: number): Promise<number | null> {
    if (this.#waitingLength + length > mostWaiting) return Promise.resolve(null);
    const worker = this.#worker ?? this.#begin();
    if (worker === null) return Promise.resolve(null);
    this.#idle?.cancel();
    this.#idle = null;
    this.#lastId += 1;
    const job: CountJob = { id: this.#lastId, texts, enough };
    this.#waitingLength += length;
    return new Promise((resolve) => {
      this.#waiting.set(job.id, { length, resolve });
      worker.postMessage(job);
    });
  }

  #begin(): Worker | null {
    if (this.#closed || this.#clock.monotonic() < this.#restMs) return null;
    const worker = new Worker(this.#script, { name: 'naru tokens', env: {}, argv: [], execArgv: [] });
    worker.on('message', ({ id, tokens }: CountedJob) => this.#settle(id, tokens));
    worker.on('error', (error) => this.#log.warn('token_thread_failed', { error: describeError(error) }));
    worker.on('exit', () => this.#gone(worker));
    this.#worker = worker;
    return worker;
  }

  #settle(id: number, tokens: number | null): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    this.#waitingLength -= waiting.length;
    waiting.resolve(tokens);
    if (this.#waiting.size === 0) this.#idle = this.#clock.after(idleMs, () => void this.#end(this.#worker));
  }

  /** It ended without being told to. */
  #gone(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#restMs = this.#clock.monotonic() + afterCrashMs;
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
