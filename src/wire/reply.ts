/** A JSON answer. */
export interface JsonReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object | Buffer;
  /** JSON unless told. */
  readonly contentType?: string;
}

/** An event stream: the head goes out at once, then whatever `write` is given. */
export interface StreamReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: (sink: StreamSink) => Promise<void>;
}

/** Where a stream's bytes go. */
export interface StreamSink {
  /** Sends text; resolves when the client is ready for more. Never throws: `gone` tells when the client has left. */
  write(text: string): Promise<void> | undefined;
}

export type Reply = JsonReply | StreamReply;
