/** One end of the way between a worker and its parent, as the operating system gives it: messages are JSON. */
export interface Channel {
  /** Never throws; what is sent to an end that is gone is lost. */
  send(message: object): void;
  onMessage(listener: (message: unknown) => void): void;
}

/** A process of ours that works for this one, and ends with it. */
export interface WorkerProcess extends Channel {
  readonly pid: number;
  kill(): void;
  /** Calls once, with the exit code or the name of the signal. */
  onEnd(ended: (how: number | string) => void): void;
}

/** What an end answers, by the name of the question. What is thrown reaches the asker as its message. */
export type Answers = Readonly<Record<string, (value: never) => unknown>>;

type Message =
  | { readonly kind: string; readonly value: unknown; readonly ask: number | null }
  | { readonly reply: number; readonly value?: unknown; readonly error?: string };

/**
 * Questions and news between a worker and its parent. News arrive in the order in which they were told, and nothing overtakes; both
 * ends are the same program, so what arrives is taken at its word.
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

  /** From now on these are answered; whatever was asked before found nobody. */
  handle(answers: Answers): void {
    for (const [kind, handle] of Object.entries(answers)) this.#answers.set(kind, handle);
  }

  /** Tells something that has no answer. */
  notify(kind: string, value: unknown = null): void {
    this.#channel.send({ kind, value, ask: null });
  }

  /** Asks; rejects with what the other end threw, or when it ends before it has answered. */
  request(kind: string, value: unknown = null): Promise<unknown> {
    if (this.#endedWith !== null) return Promise.reject(this.#endedWith);
    this.#asked += 1;
    const handle = Promise.withResolvers<unknown>();
    this.#waiting.set(this.#asked, handle);
    this.#channel.send({ kind, value, ask: this.#asked });
    return handle.promise;
  }

  /** The other end is gone: whoever waits for it hears so. */
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

  /** Begins in this turn, so that two messages are taken in the order in which they came. */
  async #answerTo({ kind, value }: { readonly kind: string; readonly value: unknown }): Promise<unknown> {
    const handle = this.#answers.get(kind);
    if (handle === undefined) throw new Error(`nobody answers ${kind}`);
    return handle(value as never);
  }
}
