import type { Log } from '../log/log.ts';
import type { Clock } from '../time/clock.ts';
import { JobThread } from '../wire/job-thread.ts';
import { countTexts } from './count-tokens.ts';

/** A job of the thread, whose result is the number of tokens. */
export interface CountJob {
  readonly texts: readonly string[];
  readonly enough: number;
}

/**
 * Text beyond this many waiting characters does not wait for the thread: it is counted here, in
 * turns.
 */
const maxWaiting = 64 * 1024 * 1024;
/**
 * An idle thread is stopped after this long: it uses some 60 MB for the tokenizer. It starts in half
 * a second, which a request after that waits for: so an upstream that reports no usage keeps it.
 */
const idleMs = 15 * 60_000;
/** The longest token of the tokenizer is 128 spaces; longer text is more than one token. */
const maxTokenLength = 128;

/**
 * The start of the texts that exceeds `enough` tokens for certain: a prompt that is far too long is
 * not copied to the thread in full.
 */
function* shortened(texts: Iterable<string>, enough: number): Generator<string> {
  // A window may end in the middle of a token.
  let left = Math.max(0, enough + 1) * maxTokenLength;
  for (const text of texts) {
    yield text.length <= left ? text : text.slice(0, left);
    left -= text.length;
    if (left <= 0) return;
  }
}

/**
 * Counts tokens in a thread, so that other requests never wait: loading the tokenizer takes a quarter
 * of a second, and 256 kB of text 60 ms. The thread starts with the first text, and texts take turns
 * in it. When it crashes, or is overloaded, the text is counted here: counting never fails.
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

  /** Whether the thread is running. */
  get hasThread(): boolean {
    return this.#thread.isRunning;
  }

  /**
   * Our own count of the texts; may stop early above `enough`. Rejects only with errors that the
   * texts themselves throw.
   */
  async count(texts: Iterable<string>, enough = Number.POSITIVE_INFINITY): Promise<number> {
    const all = [...shortened(texts, enough)];
    const length = all.reduce((sum, text) => sum + text.length, 0);
    if (length === 0) return 0;
    const counted = await this.#elsewhere(all, length, enough);
    return counted ?? countTexts(all, enough);
  }

  /** Stops the thread; its callers count unfinished jobs themselves. */
  close(): Promise<void> {
    return this.#thread.close();
  }

  /** Null when the thread could not or did not count. */
  async #elsewhere(texts: readonly string[], length: number, enough: number): Promise<number | null> {
    if (this.#waitingLength + length > maxWaiting) return null;
    this.#waitingLength += length;
    try {
      return await this.#thread.run({ texts, enough });
    } finally {
      this.#waitingLength -= length;
    }
  }
}
