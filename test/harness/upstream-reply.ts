import {
  type Act,
  bytesOf,
  cut,
  drip,
  type Ending,
  type Gate,
  insert,
  join,
  type Rendered,
  type StopPoint,
  split,
} from './upstream-actions.ts';
import {
  jsonResponse,
  type Piece,
  type ResponseOptions,
  respond,
  streamedResponse,
  type UpstreamRequest,
  usage,
  wantsStream,
} from './upstream-openai.ts';

/** A scripted response. Immutable: each method returns a new one with one change. */
export class Reply {
  readonly #make: (request: UpstreamRequest) => Rendered;
  /** Responds as soon as the head of the request has arrived, whatever happens to its body. */
  readonly early: boolean;
  /**
   * Closes the connection without a byte: on a connection that was used before, a client may send
   * its request again.
   */
  readonly drops: boolean;

  constructor(make: (request: UpstreamRequest) => Rendered, { early = false, drops = false } = {}) {
    this.#make = make;
    this.early = early;
    this.drops = drops;
  }

  /** The actions for one request. Throws when a position is outside the response. */
  render(request: UpstreamRequest): Rendered {
    return this.#make(request);
  }

  /**
   * What a client would be sent for a request with this body, byte for byte: the offsets of the
   * other methods.
   */
  bytes(body: Readonly<Record<string, unknown>> = {}, path = '/v1/chat/completions'): Buffer {
    return bytesOf(this.#make({ n: 1, method: 'POST', path, headers: [], body, raw: Buffer.alloc(0) }).acts);
  }

  /**
   * Only the bytes before `place`, then closed (`fin`), reset (`rst`) or silent forever (`never`).
   */
  cutAt(point: StopPoint, by: Ending = 'fin'): Reply {
    return this.#with((rendered) => cut(rendered, point, by));
  }

  /** Stops at `place` until the test opens the gate. */
  pauseAt(point: StopPoint, gate: Gate): Reply {
    return this.#with((rendered) => insert(rendered, point, { act: 'hold', gate }));
  }

  /** Stops at `place` for a while. */
  waitAt(point: StopPoint, waitMs: number): Reply {
    return this.#with((rendered) => insert(rendered, point, { act: 'wait', waitMs }));
  }

  /** A new write begins at each position. */
  splitAt(...points: readonly StopPoint[]): Reply {
    return this.#with((rendered) => split(rendered, points));
  }

  /** Each byte is a write, which splits every frame and every character. */
  byteByByte(): Reply {
    return this.drip(1, 0);
  }

  /** Writes of at most `size` bytes, `waitMs` after each. */
  drip(size: number, waitMs: number): Reply {
    return this.#with((rendered) => drip(rendered, size, waitMs));
  }

  /** Neighbouring writes merged: chunks that arrive together. */
  joined(): Reply {
    return this.#with(join);
  }

  /** All of it, then the connection is closed although it was to be kept. */
  thenClose(by: Ending = 'fin'): Reply {
    return this.#with((rendered) => ({ ...rendered, acts: [...rendered.acts, { act: 'end', by }] }));
  }

  /** Given before the body of the request has been read; only `next` and `always` can do it. */
  beforeBody(): Reply {
    return new Reply(this.#make, { early: true });
  }

  #with(change: (rendered: Rendered) => Rendered): Reply {
    return new Reply((sent) => change(this.#make(sent)), { early: this.early });
  }
}

/**
 * Builders of replies. Each serves both chat completions and completions, by the requested path.
 */
export const reply = {
  /**
   * The content, streamed if the request wants it, else as JSON. A string is streamed word by
   * word.
   */
  chat(content: string | readonly Piece[], options: ResponseOptions = {}): Reply {
    return new Reply((request) => adaptive(request, content, options));
  },
  /** A JSON response for any request. */
  whole(content: string | null, options: ResponseOptions = {}): Reply {
    return new Reply((request) => jsonResponse(request, content, options));
  },
  /** A stream for any request. */
  stream(pieces: readonly Piece[], options: ResponseOptions = {}): Reply {
    return new Reply((request) => streamedResponse(request, pieces, options));
  },
  /** Responds with the JSON of what it received: `method`, `path`, `headers`, `body`. */
  echo(options: ResponseOptions = {}): Reply {
    return new Reply((request) => {
      const { method, path, headers, body } = request;
      return adaptive(request, [JSON.stringify({ method, path, headers, body })], options);
    });
  },
  /**
   * A status with a body: absent for the dialect's own error, null for none, a string for HTML,
   * else JSON.
   */
  status(status: number, body?: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
    const content = body === undefined ? errorBody(status, `scripted ${status}`) : body;
    return new Reply(() => plain(status, content, headers));
  },
  /** 429, with `Retry-After` when given (seconds or a date). */
  tooMany(retryAfter?: string): Reply {
    return reply.status(429, undefined, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
  },
  redirect(location: string, status = 302): Reply {
    return reply.status(status, null, { location });
  },
  /** An error that gives the caller's own credential away in its headers and body. */
  leak(status = 401): Reply {
    return new Reply((request) => {
      const secret = request.headers.find(([name]) => name.toLowerCase() === 'authorization')?.[1] ?? 'none';
      return plain(status, errorBody(status, `Incorrect API key provided: ${secret}`), { 'x-debug': secret });
    });
  },
  /** Any JSON with 200: a body that is an error, a list of models, nonsense. */
  json(value: unknown): Reply {
    return reply.status(200, value === undefined ? null : value);
  },
  /** Bytes instead of HTTP, then the end. */
  raw(bytes: string | Uint8Array, by: Ending = 'fin'): Reply {
    const acts: readonly Act[] = [
      { act: 'send', bytes: Buffer.from(bytes) },
      { act: 'end', by },
    ];
    return new Reply(() => ({ acts, headBytes: 0 }));
  },
  /** Reads the request and never sends a byte. */
  hang(): Reply {
    return new Reply(() => ({ acts: [{ act: 'end', by: 'never' }], headBytes: 0 }));
  },
  /** Reads the request and closes (`fin`) or resets (`rst`) without a byte. */
  drop(by: Ending = 'fin'): Reply {
    return new Reply(() => ({ acts: [{ act: 'end', by }], headBytes: 0 }), { drops: true });
  },
};

/** Items with more than one member. */
export const piece = {
  /** An error inside the stream, as the OpenAI dialect has it. */
  error(code: number | string, message: string): Piece {
    return { chunk: { error: { code, message, type: 'server_error' } } };
  },
  /** One tool call: its name first, then its arguments as they are cut here. */
  tool(index: number, name: string, ...args: readonly string[]): readonly Piece[] {
    const first = { index, id: `call_${index}`, type: 'function', function: { name, arguments: '' } };
    const deltas = [first, ...args.map((part) => ({ index, function: { arguments: part } }))];
    return deltas.map((call) => ({ delta: { tool_calls: [call] } }));
  },
};

/** Usage that cannot be billed, by its fault (spec:money/4.9). `null` is none at all. */
export const oddUsages: Readonly<Record<string, unknown>> = {
  none: null,
  empty: {},
  zero: usage(0, 0),
  negative: usage(-10, -5),
  absurd: usage(10, 1e12),
  beyondIntegers: usage(1e300, 1e300),
  fractional: usage(10.5, 4.5),
  strings: { prompt_tokens: '10', completion_tokens: '5', total_tokens: '15' },
  text: 'about fifteen',
  list: [10, 5],
  halved: { prompt_tokens: 10 },
  contradictory: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 3 },
};

function adaptive(
  request: UpstreamRequest,
  content: string | readonly Piece[],
  options: ResponseOptions,
): Rendered {
  const pieces = typeof content === 'string' ? (content.match(/\S*\s*/gu) ?? []).filter(Boolean) : content;
  if (wantsStream(request)) return streamedResponse(request, pieces, options);
  const text = pieces.filter((part) => typeof part === 'string').join('');
  return jsonResponse(request, text, options);
}

function plain(status: number, body: unknown, headers: Readonly<Record<string, string>>): Rendered {
  const html = typeof body === 'string';
  const text = body === null ? '' : html ? body : JSON.stringify(body);
  const acts: readonly Act[] = text === '' ? [] : [{ act: 'send', bytes: Buffer.from(text) }];
  return respond({ status, headers }, html ? 'text/html' : 'application/json', acts);
}

function errorBody(status: number, message: string): object {
  return { error: { message, type: 'scripted_error', param: null, code: String(status) } };
}
