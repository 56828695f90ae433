import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { type Clock, pause } from '../../src/time/clock.ts';
import type { Act } from './upstream-actions.ts';
import type { UpstreamRequest } from './upstream-openai.ts';
import { headerOf, type ReadEvent, type RequestHead, RequestReader } from './upstream-read.ts';
import type { Reply } from './upstream-reply.ts';

/** How an exchange ended, and when by the clock's monotonic time. */
interface Ended {
  /**
   * `complete` to the last byte, `cut` by the script, `aborted` by the client, or `stopped` with
   * the upstream.
   */
  readonly how: 'complete' | 'cut' | 'aborted' | 'stopped';
  readonly atMs: number;
  /** Bytes of the response that were passed to the kernel. */
  readonly sentBytes: number;
}

/** One request as the upstream saw it. `body` and `raw` are empty until it has been read. */
export interface Received extends UpstreamRequest {
  /** The number of its connection, 1 for the first. */
  readonly connection: number;
  /** When its head was complete, monotonic. */
  readonly atMs: number;
  /** The first value of a header in any case; null when absent. */
  header(name: string): string | null;
  /** Settles in every case, at the latest when the upstream closes. */
  readonly ended: Promise<Ended>;
  /**
   * Resolves with the time when the client disconnects before the response has ended; else never.
   */
  readonly aborted: Promise<number>;
  /** The same as a value: null until it happens. */
  readonly abortedAtMs: number | null;
}

/** The client closed a connection, in the middle of a response or between two. */
export interface HangUp {
  readonly connection: number;
  readonly atMs: number;
  readonly midResponse: boolean;
}

/** What a connection needs from its upstream. */
export interface Script {
  readonly clock: Clock;
  readonly connection: number;
  /** Records the request and returns its number. */
  arrived(received: Received): number;
  responding(received: Received): void;
  hungUp(hangUp: HangUp): void;
  fault(message: string): void;
  earlyReply(): Reply | null;
  reply(request: UpstreamRequest): Reply;
}

/** Serves one connection to its end: requests one after the other, each by the script. */
export function serveConnection(socket: Socket, script: Script): void {
  const reader = new RequestReader();
  const inbox: ReadEvent[] = [];
  const gone = new AbortController();
  let exchange: Exchange | null = null;
  let busy = false;

  socket.on('data', (bytes) => {
    if (gone.signal.aborted || typeof bytes === 'string') return; // never a string: no encoding is set
    try {
      inbox.push(...reader.feed(bytes));
    } catch (error) {
      script.fault(String(error));
      socket.destroy();
    }
    if (!busy) work().catch((error) => fail(error));
  });
  socket.once('end', () => leave('aborted'));
  socket.once('error', () => leave('aborted'));
  socket.once('close', () => leave('stopped'));

  /** The client's end and a reset are the client's doing; a close without either is ours. */
  function leave(how: 'aborted' | 'stopped'): void {
    if (gone.signal.aborted) return;
    const atMs = script.clock.monotonic();
    const midResponse = exchange !== null && !exchange.over;
    if (how === 'aborted') script.hungUp({ connection: script.connection, atMs, midResponse });
    exchange?.finish(how);
    gone.abort();
  }

  async function work(): Promise<void> {
    busy = true;
    for (let event = inbox.shift(); event !== undefined; event = inbox.shift()) {
      if (event.kind === 'head') {
        exchange = new Exchange(event.head, script);
        const early = script.earlyReply();
        if (early !== null) await response(exchange, early);
      } else if (exchange !== null) {
        exchange.read(event.raw);
        if (!exchange.started) await response(exchange, script.reply(exchange));
      }
    }
    busy = false;
  }

  async function response(current: Exchange, chosen: Reply): Promise<void> {
    current.started = true;
    script.responding(current);
    for (const act of chosen.render(current).acts) {
      if (gone.signal.aborted || current.over) return;
      await perform(current, act);
    }
    current.finish('complete');
  }

  async function perform(current: Exchange, act: Act): Promise<void> {
    switch (act.act) {
      case 'send':
        return await send(current, act.bytes);
      case 'wait':
        return await pause(script.clock, act.waitMs, gone.signal).catch(() => {});
      case 'hold':
        act.gate.arrive();
        return await Promise.race([act.gate.opened, goneFor(gone.signal)]);
      case 'end':
        if (act.by === 'never') return await goneFor(gone.signal);
        current.finish('cut');
        if (act.by === 'fin') socket.end();
        else socket.resetAndDestroy();
    }
  }

  async function send(current: Exchange, bytes: Buffer): Promise<void> {
    const failure = await new Promise<Error | null | undefined>((done) => socket.write(bytes, done));
    if (failure) return;
    current.sentBytes += bytes.length;
    // The first turn may run before the client's socket is polled again, the second cannot.
    await turn();
    await turn();
  }

  function fail(error: unknown): void {
    script.fault(`the script itself: ${String(error)}`);
    socket.destroy();
  }
}

function goneFor(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((done) => signal.addEventListener('abort', () => done(), { once: true }));
}

/** A request and the state of its response. */
class Exchange implements Received {
  readonly n: number;
  readonly method: string;
  readonly path: string;
  readonly headers: RequestHead['headers'];
  readonly connection: number;
  readonly atMs: number;
  readonly ended: Promise<Ended>;
  readonly aborted: Promise<number>;
  raw: Buffer = Buffer.alloc(0);
  body: Readonly<Record<string, unknown>> = {};
  abortedAtMs: number | null = null;
  sentBytes = 0;
  started = false;
  over = false;
  readonly #clock: Clock;
  readonly #ended = Promise.withResolvers<Ended>();
  readonly #aborted = Promise.withResolvers<number>();

  constructor(head: RequestHead, script: Script) {
    this.method = head.method;
    this.path = head.path;
    this.headers = head.headers;
    this.connection = script.connection;
    this.#clock = script.clock;
    this.atMs = script.clock.monotonic();
    this.ended = this.#ended.promise;
    this.aborted = this.#aborted.promise;
    this.n = script.arrived(this);
  }

  header(name: string): string | null {
    return headerOf(this.headers, name);
  }

  read(raw: Buffer): void {
    this.raw = raw;
    this.body = parseObject(raw);
  }

  /** Only the first ending counts. */
  finish(how: Ended['how']): void {
    if (this.over) return;
    this.over = true;
    const atMs = this.#clock.monotonic();
    this.#ended.resolve({ how, atMs, sentBytes: this.sentBytes });
    if (how !== 'aborted') return;
    this.abortedAtMs = atMs;
    this.#aborted.resolve(atMs);
  }
}

function parseObject(raw: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(raw.toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}
