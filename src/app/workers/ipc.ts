import { OperatorError } from '../../errors/operator-error.ts';

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

/** What one end sends: a function for each kind of message, from its value to its response. */
type Contract<Kinds> = Readonly<Record<keyof Kinds, (...value: never[]) => unknown>>;

/**
 * Handlers by kind. The message of a thrown error is sent to the caller, and whether it is for the
 * operator.
 */
export type Handlers<Kinds extends Contract<Kinds>> = {
  readonly [Kind in keyof Kinds]: (
    ...value: Parameters<Kinds[Kind]>
  ) => ReturnType<Kinds[Kind]> | Promise<ReturnType<Kinds[Kind]>>;
};

type Message =
  | { readonly kind: string; readonly value: unknown; readonly requestId: number | null }
  | { readonly reply: number; readonly value?: unknown; readonly error?: ReportedError };

/** A thrown error, as far as it is sent. */
interface ReportedError {
  readonly message: string;
  /** Whether it is an `OperatorError`. */
  readonly isOperators: boolean;
}

/**
 * Requests and notifications between a worker and its parent, in order: this end sends `Out` and
 * handles `In`. Both ends are the same program, so messages are trusted.
 */
export class IpcChannel<Out extends Contract<Out>, In extends Contract<In>> {
  readonly #channel: Channel;
  readonly #handlers = new Map<string, (value: never) => unknown>();
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastRequestId = 0;
  #endedWith: Error | null = null;

  constructor(channel: Channel) {
    this.#channel = channel;
    channel.onMessage((message) => this.#receive(message as Message));
  }

  /** Registers handlers; earlier requests were rejected. */
  handle(handlers: Partial<Handlers<In>>): void {
    for (const [kind, handle] of Object.entries(handlers))
      this.#handlers.set(kind, handle as (value: never) => unknown);
  }

  /** Sends a notification. */
  notify<Kind extends keyof Out & string>(kind: Kind, ...[value]: Parameters<Out[Kind]>): void {
    this.#channel.send({ kind, value: value ?? null, requestId: null });
  }

  /**
   * Sends a request; rejects with the error of the other end, or when it ends before the response.
   */
  request<Kind extends keyof Out & string>(
    kind: Kind,
    ...[value]: Parameters<Out[Kind]>
  ): Promise<ReturnType<Out[Kind]>> {
    if (this.#endedWith !== null) return Promise.reject(this.#endedWith);
    this.#lastRequestId += 1;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(this.#lastRequestId, waiting);
    this.#channel.send({ kind, value: value ?? null, requestId: this.#lastRequestId });
    return waiting.promise as Promise<ReturnType<Out[Kind]>>;
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
      else waiting?.reject(errorOf(message.error));
      return;
    }
    const { requestId: request } = message;
    const handled = this.#handle(message);
    if (request === null) return void handled.catch(() => {});
    handled.then(
      (value) => this.#channel.send({ reply: request, value }),
      (thrown: unknown) => this.#channel.send({ reply: request, error: reported(thrown) }),
    );
  }

  /** Starts in this turn, so that messages are handled in order. */
  async #handle({ kind, value }: { readonly kind: string; readonly value: unknown }): Promise<unknown> {
    const handle = this.#handlers.get(kind);
    if (handle === undefined) throw new Error(`no handler for ${kind}`);
    return handle(value as never);
  }
}

function reported(thrown: unknown): ReportedError {
  return {
    message: thrown instanceof Error ? thrown.message : String(thrown),
    isOperators: thrown instanceof OperatorError,
  };
}

function errorOf({ message, isOperators }: ReportedError): Error {
  return isOperators ? new OperatorError(message) : new Error(message);
}
