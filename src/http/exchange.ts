import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { ClientDisconnected } from '../errors/request-aborted.ts';
import type { MemoryBudget, MemoryClaim } from '../memory/budget.ts';
import type { ListPlace } from '../memory/linked-list.ts';
import { joined } from '../wire/byte-collector.ts';
import { newRequestId, requestIdAt, requestIdWithLead } from '../wire/ids/request-id.ts';
import { parseJson } from '../wire/json.ts';
import type { JsonBody, JsonParser } from '../wire/json-parser.ts';
import type {
  JsonRequestBody,
  RequestContext,
  RequestLogFields,
  TraceContext,
} from '../wire/request-context.ts';
import { limitedAs } from './client-ip.ts';
import { decodeBody, encodingsOf } from './decode-body.ts';
import { type BodyReading, readBody } from './read-body.ts';
import type { ResponseStyle } from './response-style.ts';

/** One request and its client, as the handlers see them. */
export class Exchange implements RequestContext {
  /** Identifies this request and all of its candidate attempts (spec:api/4.2). */
  requestId: string;
  readonly method: string;
  /** As received: not decoded, not normalised, without the query (spec:errors/9.2). */
  readonly path: string;
  readonly queryText: string;
  readonly headers: IncomingHttpHeaders;
  /** Monotonic milliseconds of its arrival. */
  readonly startedMs: number;
  readonly clientIp: string;
  readonly traceContext: TraceContext | null;
  /** Whether the head of the response has been sent. */
  isResponding = false;
  /** Whether the response depends on a credential: no cache may keep it. */
  isPrivate = false;
  /** Where it is among the open exchanges; null when it is not one. */
  place: ListPlace<Exchange> | null = null;
  /** Whether its response is complete, and not read in full. Both belong to `OpenExchanges`. */
  isLeaving = false;
  /** How its responses look; null: as those of the API. */
  style: ResponseStyle | null = null;
  readonly logFields: RequestLogFields = {};
  readonly #request: IncomingMessage;
  /** The memory of this process that the request uses; null where that is not counted. */
  readonly memory: MemoryClaim | null;
  readonly #parser: Pick<JsonParser, 'parse'> | null;
  readonly #pace: BodyReading['pace'];
  readonly #departure = new AbortController();

  constructor(
    request: IncomingMessage,
    at: {
      readonly clientIp: string;
      readonly startedMs: number;
      /** Absent: there is none. */
      readonly traceContext?: TraceContext | null;
      /** When it arrived, epoch milliseconds; its id contains the time. */
      readonly nowMs?: number;
      /** Without one, bodies are parsed on the event loop. */
      readonly parser?: Pick<JsonParser, 'parse'> | undefined;
      /** Without one, the memory of the request is not counted. */
      readonly budget?: MemoryBudget | undefined;
      /** Without one, a body may arrive at any speed. */
      readonly pace?: BodyReading['pace'];
    },
  ) {
    this.#request = request;
    this.requestId = at.nowMs === undefined ? newRequestId() : requestIdAt(at.nowMs);
    this.#parser = at.parser ?? null;
    this.#pace = at.pace ?? null;
    this.memory = at.budget?.claim(`address ${limitedAs(at.clientIp)}`, () => this.#refuse()) ?? null;
    this.method = request.method ?? 'GET';
    const [path, queryText] = splitTarget(request.url ?? '/');
    this.path = path;
    this.queryText = queryText;
    this.headers = request.headers;
    this.startedMs = at.startedMs;
    this.clientIp = at.clientIp;
    this.traceContext = at.traceContext ?? null;
  }

  /**
   * Aborts when the client disconnects before the response is complete, or the server aborts the
   * request.
   */
  get signal(): AbortSignal {
    return this.#departure.signal;
  }

  /** The caller is known: from now on the id of the request leads to the account. */
  leadTo(accountId: number): void {
    this.requestId = requestIdWithLead(this.requestId, accountId);
  }

  /** The connection of the request. */
  get socket(): Socket {
    return this.#request.socket;
  }

  /** Aborts everything that waits in the exchange. */
  leave(reason: Error): void {
    this.#departure.abort(reason);
  }

  /** The first value of a header, or null; valid UTF-8 is decoded as such. */
  header(name: string): string | null {
    const value = this.headers[name];
    const first = typeof value === 'string' ? value : value?.[0];
    return first === undefined ? null : spelledOut(first);
  }

  /**
   * The body, at most `maxBytes` of it. Throws `BodyTooLarge`, or the reason for which the exchange
   * was aborted. Reading may take minutes: a caller that was identified before is checked again
   * afterwards.
   */
  async body(maxBytes: number): Promise<Buffer> {
    return joined((await this.#decoded(maxBytes)).blocks);
  }

  /** The body as JSON. Throws as `body` does. */
  async json(maxBytes: number): Promise<JsonRequestBody> {
    const body = await this.#decoded(maxBytes);
    const parsing = this.#parser?.parse(body, this.clientIp, this.signal) ?? parseJson(joined(body.blocks));
    return { parsed: parsing instanceof Promise ? await parsing : parsing, bytes: body.length };
  }

  /** The body without its content encodings; its decoded size is bounded like any body's. */
  async #decoded(maxBytes: number): Promise<JsonBody> {
    const encodings = encodingsOf(this.header('content-encoding'));
    const reading = {
      maxBytes,
      signal: this.signal,
      holding: (bytes: number) => this.memory?.setBytes('body', bytes),
      pace: this.#pace,
    };
    const body = this.#hold(await readBody(this.#request, reading));
    if (encodings.length === 0) return body;
    const bytes = await decodeBody(joined(body.blocks), encodings, maxBytes);
    return this.#hold({ length: bytes.length, blocks: [bytes] });
  }

  /** Counts the memory of a body that was read. */
  #hold(body: JsonBody): JsonBody {
    this.memory?.setBytes('body', workingCopies * body.length);
    // It may not fit.
    this.signal.throwIfAborted();
    return body;
  }

  /** Ends the exchange for lack of memory: with a response, unless one has begun. */
  #refuse(): void {
    this.leave(
      this.isResponding ? new ClientDisconnected('the client read its response too slowly') : overloaded(),
    );
    if (this.isResponding) this.socket.destroy();
  }
}

/** A body in use exists as bytes or text, as the parsed value, and as the upstream request. */
const workingCopies = 3;
/** Most requests end within seconds. */
const retryAfterSec = 2;

function overloaded(): Error {
  return refuse('overloaded', messages.overloaded(), { retry_after_sec: retryAfterSec });
}

/**
 * HTTP decodes a header's bytes as Latin-1; a valid UTF-8 sequence was meant as UTF-8, such as a
 * Korean title.
 */
function spelledOut(header: string): string {
  if (!/[\x80-\xff]/.test(header)) return header;
  const bytes = Buffer.from(header, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : header;
}

/**
 * Path and query of a request target. The authority of an absolute-form target is ignored: it
 * decides nothing.
 */
function splitTarget(target: string): [string, string] {
  const origin = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '');
  const mark = origin.indexOf('?');
  return mark === -1 ? [origin, ''] : [origin.slice(0, mark), origin.slice(mark + 1)];
}
