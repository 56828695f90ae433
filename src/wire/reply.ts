/** A JSON response. */
export interface JsonReply {
  /** 200 when absent. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object | Buffer;
  /** Values of `Set-Cookie`. */
  readonly cookies?: readonly string[];
  /** JSON when absent. */
  readonly contentType?: string;
}

/** An event stream: the head may be sent at once; `stream` writes the rest and never throws. */
export interface StreamReply {
  /** Server-sent events when absent. */
  readonly contentType?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: (sink: StreamSink) => Promise<void>;
}

/** The destination of a stream's text. */
export interface StreamSink {
  /**
   * Sends text; resolves when the client is ready for more, also when it has disconnected. Never
   * throws.
   */
  write(text: string): Promise<void> | undefined;
}

export type Reply = JsonReply | StreamReply;
