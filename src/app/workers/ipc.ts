/** One end of the operating system's channel between a worker and its parent; messages are JSON. */
export interface Channel {
  /** Never throws; a message to a closed end is lost. */
  send(message: object): void;
  onMessage(listener: (message: unknown) => void): void;
}

/** A worker process; it ends with its parent. */
export interface WorkerProcess extends Channel {
  readonly pid: number;
  kill(): void;
  /** Called once with the exit code or the signal name. */
  onEnd(ended: (how: number | string) => void): void;
}

/** Request handlers by kind. The message of a thrown error is sent to the caller. */
export type Answers = Readonly<Record<string, (value: never) => unknown>>;

type Message =
  | { readonly kind: string; readonly value: unknown; readonly ask: number | null }
  | { readonly reply: number; readonly value?: unknown; readonly error?: string };

/**
 * Requests and notifications between a worker and its parent, in order. Both ends are the same program, so messages are trusted.
 */
export class IpcChannel {
  readonly #channel: Channel;
  readonly #answers = new Map<string, (value: never) => unknown>();
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #asked = 0;
  #endedWith: Error | null = null;

  constructor(channel: Channel) {
    this.#channel = channel;
    channel.onMessage((message) => this.#receive(message as Message));
  }

  /** Registers handlers; earlier requests were rejected. */
  handle(answers: Answers): void {
    for (const [kind, handle] of Object.entries(answers)) this.#answers.set(kind, handle);
  }

  /** Sends a notification. */
  notify(kind: string, value: unknown = null): void {
    this.#channel.send({ kind, value, ask: null });
  }

  /** Sends a request; rejects with the error of the other end, or when it ends before the response. */
  request(kind: string, value: unknown = null): Promise<unknown> {
    if (this.#endedWith !== null) return Promise.reject(this.#endedWith);
    this.#asked += 1;
    const handle = Promise.withResolvers<unknown>();
    this.#waiting.set(this.#asked, handle);
    this.#channel.send({ kind, value, ask: this.#asked });
    return handle.promise;
  }

  /** Rejects all pending requests: the other end is gone. */
  end(reason: Error): void {
    this.#endedWith ??= reason;
    for (const { reject } of this.#waiting.values()) reject(this.#endedWith);
    this.#waiting.clear();
  }

  #receive(message: Message): void {
    if ('reply' in message) {
      const waiting = this.#waiting.get(message.reply);
      this.#waiting.delete(message.reply);
      if (message.error === undefined) waiting?.resolve(message.value);
      else waiting?.reject(new Error(message.error));
      return;
    }
    const { ask: request } = message;
    const answered = this.#answerTo(message);
    if (request === null) return void answered.catch(() => {});
    answered.then(
      (value) => this.#channel.send({ reply: request, value }),
      (thrown: unknown) =>
        this.#channel.send({
          reply: request,
          error: thrown instanceof Error ? thrown.message : String(thrown),
        }),
    );
  }

  /** Starts in this turn, so that messages are handled in order. */
  async #answerTo({ kind, value }: { readonly kind: string; readonly value: unknown }): Promise<unknown> {
    const handle = this.#answers.get(kind);
    if (handle === undefined) throw new Error(`no handler for ${kind}`);
    return handle(value as never);
  }
}
