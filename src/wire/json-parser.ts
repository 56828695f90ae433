import type { Log } from '../log/log.ts';
import type { Clock } from '../time/clock.ts';
import { joined } from './byte-collector.ts';
import { JobThread } from './job-thread.ts';
import { type ParsedJson, parseJson } from './json.ts';

/**
 * Larger bodies are parsed in a thread. Receiving its result takes a third of the time that parsing
 * takes, so a smaller one costs less here. A smaller block may be part of a network block that
 * others share.
 */
const maxBytesHere = 65_536;
/**
 * A thread that is idle for this long is stopped: it keeps what it parsed until it collects
 * garbage.
 */
const idleMs = 10_000;

/** A body to parse, and its client. */
export interface JsonBody {
  /** Its bytes, in order; those of a larger body in buffers of their own. */
  readonly blocks: readonly Buffer[];
  /** The number of bytes. */
  readonly length: number;
}

/**
 * Parses bodies: small ones at once, others in a thread, so that other requests do not wait. The
 * thread takes one body at a time and the clients in turn: many bodies of one client do not delay
 * those of another.
 */
export class JsonParser {
  readonly #thread: JobThread<readonly Uint8Array[], ParsedJson>;
  /** The waiting bodies of each client, in the order of the clients' turns. */
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

  /**
   * Parses a body; its bytes cannot be used afterwards. Rejects when the thread crashed, or with
   * the signal's reason when that aborts first.
   */
  parse(body: JsonBody, client: string, signal: AbortSignal): ParsedJson | Promise<ParsedJson> {
    if (body.length <= maxBytesHere) return parseJson(joined(body.blocks));
    return new Promise((resolve, reject) => {
      const line = this.#lines.get(client) ?? [];
      line.push(async () => {
        if (signal.aborted) return reject(signal.reason);
        await this.#elsewhere(body).then(resolve, reject);
      });
      this.#lines.set(client, line);
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Stops the thread. */
  close(): Promise<void> {
    return this.#thread.close();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#next(); next !== undefined; next = this.#next()) await next();
    this.#isRunning = false;
  }

  /**
   * The next body of the client whose turn it is. That client's next turn comes after all others.
   */
  #next(): (() => Promise<void>) | undefined {
    for (const [client, line] of this.#lines) {
      const next = line.shift();
      this.#lines.delete(client);
      if (line.length > 0) this.#lines.set(client, line);
      return next;
    }
    return undefined;
  }

  async #elsewhere({ blocks }: JsonBody): Promise<ParsedJson> {
    const buffers = blocks.map(({ buffer }) => buffer as ArrayBuffer);
    const parsed = await this.#thread.run(blocks, buffers);
    if (parsed !== null) return parsed;
    if (buffers.some(({ detached }) => detached)) throw new Error('the thread that parses bodies died');
    return parseJson(joined(blocks));
  }
}
