import type { Dispatcher } from 'undici';
import { openaiDialect } from '../../src/dialects/openai/index.ts';
import type { Provider } from '../../src/upstreams/providers.ts';
import type { SimProcess } from './process.ts';
import type { Random } from './random.ts';
import type { Timeline } from './time.ts';

/** An upstream's response to one request. */
type Mood = 'well' | 'uncounted' | 'refuses' | 'busy' | 'fails' | 'silent' | 'stalls' | 'cuts' | 'babbles';

/** No upstream responds with more. */
export const maxWords = 30;
const moods: readonly Mood[] = [
  ...(Array(12).fill('well') as Mood[]),
  ...(['uncounted', 'refuses', 'busy', 'fails', 'silent', 'stalls', 'cuts', 'babbles'] as const),
];

/** Every call to an upstream that is not over yet, over all processes. */
export class UpstreamCalls {
  readonly #open = new Map<number, SimProcess>();
  #requests = 0;

  get requests(): number {
    return this.#requests;
  }

  /** How many are open of processes that live. */
  get open(): number {
    return [...this.#open.values()].filter((process) => process.isAlive).length;
  }

  /** How many are open of one process. */
  openOf(process: SimProcess): number {
    return process.isAlive ? [...this.#open.values()].filter((one) => one === process).length : 0;
  }

  begin(process: SimProcess): () => void {
    this.#requests += 1;
    const id = this.#requests;
    this.#open.set(id, process);
    return () => void this.#open.delete(id);
  }
}

/** A provider as one process reaches it. `onCall` is called for each request that it receives. */
export function simProvider(
  slug: string,
  parts: {
    readonly process: SimProcess;
    readonly timeline: Timeline;
    readonly random: Random;
    readonly calls: UpstreamCalls;
    readonly note: (line: string) => void;
  },
): Provider {
  const dispatcher = {
    dispatch: (options: { readonly body: string }, handler: Dispatcher.DispatchHandler): boolean => {
      new Call(slug, options.body, handler, parts).begin();
      return true;
    },
  } as unknown as Dispatcher;
  return {
    slug,
    name: slug,
    dialect: openaiDialect,
    firstByteTimeoutMs: 4_000,
    request: ({ path, headers, body }) => ({
      dispatcher,
      fresh: () => dispatcher,
      origin: `http://${slug}`,
      path,
      headers,
      body,
      closes: false,
    }),
    conceal: (message) => message,
    clientMessage: (message) => message,
    use: () => () => {},
    retire: async () => {},
    close: async () => {},
  };
}

/** One request at an upstream, from its dispatch to the end of its connection. */
class Call {
  readonly #slug: string;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #parts: Parameters<typeof simProvider>[1];
  readonly #mood: Mood;
  readonly #text: number;
  readonly #stream: boolean;
  readonly #end: () => void;
  #over = false;
  readonly #controller: Dispatcher.DispatchController;

  constructor(
    slug: string,
    body: string,
    handler: Dispatcher.DispatchHandler,
    parts: Parameters<typeof simProvider>[1],
  ) {
    const { random, process, calls } = parts;
    const request = JSON.parse(body) as { readonly stream?: boolean; readonly max_tokens?: number };
    this.#slug = slug;
    this.#handler = handler;
    this.#parts = parts;
    this.#mood = random.pick(moods);
    this.#text = random.int(1, Math.min(maxWords, Math.max(1, request.max_tokens ?? 1)));
    this.#stream = request.stream === true;
    this.#end = calls.begin(process);
    this.#controller = {
      pause: () => {},
      resume: () => {},
      abort: (reason: Error) => this.#fail(reason),
    } as unknown as Dispatcher.DispatchController;
    process.whenDead(() => this.#close());
  }

  begin(): void {
    this.#parts.note(`upstream ${this.#slug} gets a request, and is ${this.#mood}`);
    this.#handler.onRequestStart?.(this.#controller, {});
    void this.#respond();
  }

  async #respond(): Promise<void> {
    const { random } = this.#parts;
    await this.#wait(random.int(1, 60));
    switch (this.#mood) {
      case 'refuses':
        return this.#fail(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
      case 'busy':
        return this.#whole(429, { error: { message: 'slow down' } });
      case 'fails':
        return this.#whole(500, { error: { message: 'sorry' } });
      case 'silent':
        return;
      default:
        return this.#stream ? this.#streamed() : this.#inOnePiece();
    }
  }

  async #inOnePiece(): Promise<void> {
    if (this.#mood === 'stalls') return;
    if (this.#mood === 'cuts') return this.#fail(new Error('other side closed'));
    if (this.#mood === 'babbles') return this.#whole(200, 'what?');
    const message = { role: 'assistant', content: 'word '.repeat(this.#text) };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    this.#whole(200, { id: 'x', object: 'chat.completion', choices, ...this.#usage() });
  }

  async #streamed(): Promise<void> {
    const { random } = this.#parts;
    this.#head(200, 'text/event-stream');
    for (let word = 0; word < this.#text; word += 1) {
      this.#event({ id: 'x', choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] });
      await this.#wait(random.int(1, 40));
      if (word < this.#text / 2) continue;
      if (this.#mood === 'stalls') return;
      if (this.#mood === 'cuts') return this.#fail(new Error('other side closed'));
      if (this.#mood === 'babbles') this.#data('data: {what?\n\n');
    }
    this.#event({ id: 'x', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    const { usage } = this.#usage();
    if (usage !== undefined) this.#event({ id: 'x', choices: [], usage });
    this.#data('data: [DONE]\n\n');
    this.#finish();
  }

  #usage(): { readonly usage?: object } {
    if (this.#mood === 'uncounted') return {};
    return { usage: { prompt_tokens: 6, completion_tokens: this.#text, total_tokens: 6 + this.#text } };
  }

  #whole(status: number, body: object | string): void {
    this.#head(status, 'application/json');
    this.#data(typeof body === 'string' ? body : JSON.stringify(body));
    this.#finish();
  }

  #event(body: object): void {
    this.#data(`data: ${JSON.stringify(body)}\n\n`);
  }

  #head(status: number, type: string): void {
    if (!this.#over)
      this.#handler.onResponseStart?.(this.#controller, status, { 'content-type': type }, 'OK');
  }

  #data(text: string): void {
    if (!this.#over) this.#handler.onResponseData?.(this.#controller, Buffer.from(text));
  }

  #finish(): void {
    if (this.#over) return;
    this.#close();
    this.#handler.onResponseEnd?.(this.#controller, {});
  }

  #fail(error: Error): void {
    if (this.#over) return;
    this.#close();
    this.#handler.onResponseError?.(this.#controller, error);
  }

  #close(): void {
    this.#over = true;
    this.#end();
  }

  #wait(delayMs: number): Promise<void> {
    return this.#over ? new Promise(() => {}) : this.#parts.timeline.pause(delayMs);
  }
}
