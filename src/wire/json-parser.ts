import type { Log } from '../log/log.ts';
import type { Clock } from '../time/clock.ts';
import { JobThread } from './job-thread.ts';
import { type ParsedJson, parseJson } from './parse-json.ts';

/** What takes longer is parsed in a thread, in milliseconds: what a thread answers takes a third of that to receive. */
const hereMs = 4;
/** A thread that has had nothing to do for this long is ended: it keeps what it has parsed until it collects. */
const idleMs = 10_000;
/** A body of so many bytes or fewer may lie in a block of the network that others use too. */
const sharedBytes = 65_536;

/** A body to parse, and for whom. */
export interface JsonBody {
  readonly bytes: Buffer;
  /** About how long that takes, milliseconds. */
  readonly parseMs: number;
}

/**
 * Parses bodies: what is quick at once, what is not in a thread, so that nobody else waits for it. The thread takes one body at a
 * time, and the clients in turn: many bodies of one do not keep those of another waiting.
 */
export class JsonParser {
  readonly #thread: JobThread<Uint8Array, ParsedJson>;
  /** Of each client that has bodies waiting, in the order of their turns. */
  readonly #lines = new Map<string, (() => Promise<void>)[]>();
  #isRunning = false;

  /** `script` is the thread's program. */
  constructor(
    { clock, log }: { readonly clock: Clock; readonly log: Log },
    script = new URL('./json-worker.ts', import.meta.url),
  ) {
    this.#thread = new JobThread({ clock, log, name: 'json', script, idleMs });
  }

  /** Whether the thread is running. */
  get hasThread(): boolean {
    return this.#thread.isRunning;
  }

  /** Parses a body, whose bytes are lost then. Rejects when the thread died, or with the signal's reason when that aborts first. */
  parse(body: JsonBody, client: string, signal: AbortSignal): ParsedJson | Promise<ParsedJson> {
    if (body.parseMs <= hereMs) return parseJson(body.bytes);
    return new Promise((resolve, reject) => {
      const line = this.#lines.get(client) ?? [];
      line.push(async () => {
        if (signal.aborted) return reject(signal.reason);
        await this.#elsewhere(body.bytes).then(resolve, reject);
      });
      this.#lines.set(client, line);
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#thread.close();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#next(); next !== undefined; next = this.#next()) await next();
    this.#isRunning = false;
  }

  /** The next body of the client whose turn it is; the client's next turn is after all others'. */
  #next(): (() => Promise<void>) | undefined {
    for (const [client, line] of this.#lines) {
      const next = line.shift();
      this.#lines.delete(client);
      if (line.length > 0) this.#lines.set(client, line);
      return next;
    }
    return undefined;
  }

  async #elsewhere(bytes: Buffer): Promise<ParsedJson> {
    const own = bytes.length > sharedBytes ? bytes : Buffer.from(new Uint8Array(bytes).buffer);
    const parsed = await this.#thread.ask(own, [own.buffer as ArrayBuffer]);
    if (parsed !== null) return parsed;
    if ((own.buffer as ArrayBuffer).detached) throw new Error('the thread that parses bodies died');
    return parseJson(own);
  }
}
