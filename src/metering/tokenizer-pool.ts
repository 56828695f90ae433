import type { Log } from '../log/log.ts';
import type { Clock } from '../time/clock.ts';
import { JobThread } from '../wire/job-thread.ts';
import { countTexts } from './count-tokens.ts';

/** What the thread is asked; it answers with the number of tokens. */
export interface CountJob {
  readonly texts: readonly string[];
  readonly enough: number;
}

/** Texts from this length on are counted in a thread: 256 kB are about 60 ms of work. */
const longLength = 262_144;
/** More characters than this are not kept waiting for the thread: the rest is counted here, in turns. */
const maxWaiting = 64 * 1024 * 1024;
/** A thread that has had nothing to do for this long is ended: it holds some 60 MB of tokenizer. */
const idleMs = 60_000;
/** The longest token of the tokenizer is 128 spaces; what is longer is more than one. */
const maxTokenLength = 128;

/** As much of the texts as cannot be `enough` tokens or fewer: a prompt that is far too long is not copied to the thread as a whole. */
function* shortened(texts: Iterable<string>, enough: number): Generator<string> {
  // A window of the count ends where it ends, be it in the middle of a token.
  let left = Math.max(0, enough + 1) * maxTokenLength;
  for (const text of texts) {
    yield text.length <= left ? text : text.slice(0, left);
    left -= text.length;
    if (left <= 0) return;
  }
}

/**
 * Counts tokens: short texts in this thread, long ones in another, so that requests beside them never wait. The thread begins with
 * the first long text. When it dies, or has too much to do, the count is made here all the same: nothing ever fails for it.
 */
export class TokenizerPool {
  readonly #thread: JobThread<CountJob, number>;
  #waitingLength = 0;

  /** `script` is the thread's program. */
  constructor(
    { clock, log }: { readonly clock: Clock; readonly log: Log },
    script = new URL('./tokenizer-worker.ts', import.meta.url),
  ) {
    this.#thread = new JobThread({ clock, log, name: 'tokens', script, idleMs });
  }

  /** Whether a thread is there. */
  get hasThread(): boolean {
    return this.#thread.isRunning;
  }

  /** Our own count of the texts; may stop once it is above `enough`. Never rejects but for what the texts themselves throw. */
  async count(texts: Iterable<string>, enough = Number.POSITIVE_INFINITY): Promise<number> {
    const all = [...shortened(texts, enough)];
    const length = all.reduce((sum, text) => sum + text.length, 0);
    const counted = length < longLength ? null : await this.#elsewhere(all, length, enough);
    return counted ?? countTexts(all, enough);
  }

  /** Ends the thread; what it had not counted is counted by whoever waits for it. */
  close(): Promise<void> {
    return this.#thread.close();
  }

  /** Null when the thread cannot or did not do it. */
  async #elsewhere(texts: readonly string[], length: number, enough: number): Promise<number | null> {
    if (this.#waitingLength + length > maxWaiting) return null;
    this.#waitingLength += length;
    try {
      return await this.#thread.ask({ texts, enough });
    } finally {
      this.#waitingLength -= length;
    }
  }
}
