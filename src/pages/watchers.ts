import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal } from '../errors/page-refusal.ts';
import { describeError, type Log } from '../log/log.ts';
import type { Clock } from '../time/clock.ts';
import type { StreamSink } from '../wire/reply.ts';
import type { PageClient } from './page-client.ts';
import { PageReply, sessionTokenOf } from './page-reply.ts';
import type { PageSession, Sessions } from './page-session.ts';
import { repeat } from './repeat.ts';

/** One event of a live view. What several watchers get is one object: its text is made once. */
export interface WatchEvent {
  readonly event: string;
  readonly data: unknown;
  /** What a browser sends as `Last-Event-ID` when it connects again. */
  readonly id?: string;
}

/** Starts to send events to `push`; returns how to stop. May send the present state at once. */
export type WatchSource = (push: (event: WatchEvent) => void) => (() => void) | Promise<() => void>;

/** The limits of live views. */
export interface WatcherLimits {
  readonly perAccount: number;
  readonly total: number;
  /** What may wait for one slow watcher, bytes. */
  readonly maxWaitingBytes: number;
}

const defaultLimits: WatcherLimits = { perAccount: 10, total: 200, maxWaitingBytes: 262_144 };
/** How often a session is checked: one that was revoked sees nothing more after a second. */
const checkEveryMs = 1_000;
/** A comment this often shows proxies and browsers that the stream is alive. */
const keepAliveMs = 15_000;

interface Watcher {
  readonly owner: string;
  readonly end: (reason: EndReason) => void;
}

/** Why a stream ends, as its last event states. */
type EndReason = 'session_ended' | 'too_slow' | 'stopping' | 'failed' | 'left';

/** The live views that are open on this process, over server-sent events. */
export class Watchers {
  readonly #sessions: Sessions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limits: WatcherLimits;
  readonly #open = new Set<Watcher>();
  #isClosed = false;
  /** Checks of sessions under way: the streams of one session share one. */
  readonly #checks = new Map<string, Promise<boolean>>();

  constructor(parts: {
    readonly sessions: Sessions;
    readonly clock: Clock;
    readonly log: Log;
    readonly limits?: Partial<WatcherLimits>;
  }) {
    this.#sessions = parts.sessions;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#limits = { ...defaultLimits, ...parts.limits };
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * The reply that streams the source to a session. Refuses with 429 when the account, or this
   * process, has too many.
   */
  watch(
    {
      session,
      client,
      signal,
    }: {
      readonly session: PageSession;
      readonly client: PageClient;
      readonly signal: AbortSignal;
    },
    source: WatchSource,
  ): PageReply {
    const owner =
      session.kind === 'owner' ? `account ${session.accountId}` : `operator ${session.operatorId}`;
    const own = [...this.#open].filter((each) => each.owner === owner).length;
    if (own >= this.#limits.perAccount || this.#open.size >= this.#limits.total || this.#isClosed)
      throw new PageRefusal('too_many_watchers', pageMessages.tooManyWatchers, { retryAfterSec: 10 });
    const isToken = session.kind === 'operator' && session.isToken;
    const area = session.kind === 'owner' ? 'dashboard' : 'console';
    const token = (isToken ? client.bearer : sessionTokenOf(area, client)) ?? '';
    const ended = Promise.withResolvers<EndReason>();
    const watcher: Watcher = { owner, end: ended.resolve };
    // It counts from now on: the stream itself begins only when the head is sent.
    this.#open.add(watcher);
    const leave = (): void => {
      ended.resolve('left');
      this.#open.delete(watcher);
    };
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    return new PageReply({
      stream: async (sink) => {
        try {
          await this.#stream(sink, { token, isToken, source, ended });
        } finally {
          signal.removeEventListener('abort', leave);
          this.#open.delete(watcher);
        }
      },
    });
  }

  /** Ends every stream: the process drains. */
  close(): void {
    this.#isClosed = true;
    for (const { end } of this.#open) end('stopping');
  }

  async #stream(
    sink: StreamSink,
    {
      token,
      isToken,
      source,
      ended,
    }: {
      readonly token: string;
      readonly isToken: boolean;
      readonly source: WatchSource;
      readonly ended: PromiseWithResolvers<EndReason>;
    },
  ): Promise<void> {
    const queue = new SinkQueue(sink, this.#limits.maxWaitingBytes, () => ended.resolve('too_slow'));
    const stops: (() => void)[] = [
      repeat(this.#clock, checkEveryMs, async () => {
        if (!(await this.#isValid(token, isToken))) ended.resolve('session_ended');
      }),
      repeat(this.#clock, keepAliveMs, async () => queue.send(': alive\n\n')),
    ];
    try {
      stops.push(await source((event) => queue.send(textOf(event))));
      const reason = await ended.promise;
      // A slow client gets nothing more, and its memory is freed.
      if (reason !== 'too_slow' && reason !== 'left') queue.send(textOf({ event: 'end', data: { reason } }));
    } catch (error) {
      this.#log.error('live_view_failed', { detail: describeError(error) });
      queue.send(textOf({ event: 'end', data: { reason: 'failed' } }));
    } finally {
      for (const stop of stops) stop();
    }
    await queue.close();
  }

  /**
   * Whether the session still exists. While the database is away it is unknown, and the stream goes
   * on.
   */
  #isValid(token: string, isToken: boolean): Promise<boolean> {
    const running = this.#checks.get(token);
    if (running !== undefined) return running;
    const found = isToken ? this.#sessions.findOperatorToken(token) : this.#sessions.findSession(token);
    const check = found.then((session) => session !== null).finally(() => this.#checks.delete(token));
    this.#checks.set(token, check);
    return check;
  }
}

const texts = new WeakMap<WatchEvent, string>();

function textOf(event: WatchEvent): string {
  const known = texts.get(event);
  if (known !== undefined) return known;
  const text = framed(event);
  texts.set(event, text);
  return text;
}

function framed({ event, data, id }: WatchEvent): string {
  const lines = [
    ...(id === undefined ? [] : [`id: ${id}`]),
    `event: ${event}`,
    `data: ${JSON.stringify(data)}`,
  ];
  return `${lines.join('\n')}\n\n`;
}

/**
 * Text on its way to one watcher: sent in order, a bounded amount waits. What is sent in one turn is
 * one write.
 */
class SinkQueue {
  readonly #sink: StreamSink;
  readonly #maxBytes: number;
  readonly #onOverflow: () => void;
  #waiting: string[] = [];
  #bytes = 0;
  #sending: Promise<void> | null = null;
  #isOver = false;

  constructor(sink: StreamSink, maxBytes: number, onOverflow: () => void) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
    this.#onOverflow = onOverflow;
  }

  send(text: string): void {
    if (this.#isOver) return;
    this.#waiting.push(text);
    this.#bytes += Buffer.byteLength(text);
    if (this.#bytes > this.#maxBytes) {
      this.#isOver = true;
      this.#waiting = [];
      this.#onOverflow();
      return;
    }
    this.#sending ??= this.#sendAll();
  }

  /** Resolves when what waits was sent; at once after an overflow. */
  async close(): Promise<void> {
    if (!this.#isOver) await this.#sending;
    this.#isOver = true;
  }

  async #sendAll(): Promise<void> {
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const text = this.#waiting.join('');
      this.#waiting = [];
      await this.#sink.write(text);
      this.#bytes -= Buffer.byteLength(text);
    }
    this.#sending = null;
  }
}
