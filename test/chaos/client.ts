import { type Agent, type ClientRequest, type IncomingMessage, request as send } from 'node:http';

/** One request of a client, and when the client itself disconnects. */
export interface OrderedRequest {
  /** Names the request in its generation's record (it is sent as the referer). */
  readonly tag: string;
  readonly accountId: number;
  readonly key: string;
  readonly path: '/chat/completions' | '/completions';
  readonly body: Readonly<Record<string, unknown>>;
  /** The client disconnects after this many milliseconds; null: never. */
  readonly leaveAfterMs: number | null;
}

/**
 * What a client knows of a request. `success`: it received the end of the response, with its price.
 * `errored`: it received an error in band. `refused`: a complete error response. `unseen`: the
 * rest, either cut off or left.
 */
export interface Sight {
  readonly order: OrderedRequest;
  readonly kind: 'success' | 'errored' | 'refused' | 'unseen';
  readonly status: number | null;
  readonly errorType: string | null;
  readonly generationId: string | null;
  readonly requestId: string | null;
  /** `usage.cost` in micro-won. */
  readonly costMicro: bigint | null;
  readonly leftByItself: boolean;
  /** Monotonic milliseconds: when it was sent, and when its response ended. */
  readonly beganMs: number;
  readonly endedMs: number;
}

/** How a response ended, byte by byte. */
interface Received {
  readonly status: number | null;
  readonly generationId: string | null;
  readonly requestId: string | null;
  readonly streamed: boolean;
  readonly text: string;
  readonly complete: boolean;
}

/** Sends a request and returns its result; `listen` gets every byte. Never rejects. */
export async function request(
  url: string,
  order: OrderedRequest,
  agent: Agent,
  listen: (text: string) => void = () => {},
): Promise<Sight> {
  const left = { byItself: false };
  const beganMs = performance.now();
  const received = await receive(url, order, agent, left);
  listen(received.text);
  const seen = received.streamed ? seenInStream(received) : seenWhole(received);
  return {
    order,
    status: received.status,
    generationId: received.generationId,
    requestId: received.requestId,
    leftByItself: left.byItself,
    beganMs,
    endedMs: performance.now(),
    ...seen,
  };
}

function receive(
  url: string,
  order: OrderedRequest,
  agent: Agent,
  left: { byItself: boolean },
): Promise<Received> {
  return new Promise((resolve) => {
    let response: IncomingMessage | null = null;
    let text = '';
    const end = (complete: boolean): void => {
      clearTimeout(leaving);
      const header = (name: string): string | null => {
        const value = response?.headers[name];
        return typeof value === 'string' ? value : null;
      };
      const type = String(response?.headers['content-type'] ?? '');
      resolve({
        status: response?.statusCode ?? null,
        generationId: header('x-service-generation-id'),
        requestId: header('x-service-request-id'),
        streamed: type.startsWith('text/event-stream'),
        text,
        complete,
      });
    };
    const body = JSON.stringify(order.body);
    const headers = {
      authorization: `Bearer ${order.key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      referer: order.tag,
    };
    const sent: ClientRequest = send(`${url}${order.path}`, { method: 'POST', agent, headers }, (got) => {
      response = got;
      got.setEncoding('utf8');
      got.on('data', (part: string) => {
        text += part;
      });
      got.on('end', () => end(got.complete));
      got.on('error', () => end(false));
    });
    sent.on('error', () => end(false));
    const leaving =
      order.leaveAfterMs === null
        ? undefined
        : setTimeout(() => {
            left.byItself = true;
            sent.destroy();
          }, order.leaveAfterMs);
    sent.end(body);
  });
}

type Seen = Pick<Sight, 'kind' | 'costMicro' | 'errorType'>;
const unseen: Seen = { kind: 'unseen', costMicro: null, errorType: null };

function seenWhole({ status, text, complete }: Received): Seen {
  if (!complete) return unseen;
  const body = JSON.parse(text);
  if (status !== 200)
    return { kind: 'refused', costMicro: null, errorType: body.error.metadata.error_type as string };
  return { kind: 'success', costMicro: microOf(body.usage.cost), errorType: null };
}

/**
 * Every whole event counts, also when the connection broke behind it: a price that was seen must
 * have been settled.
 */
function seenInStream({ text }: Received): Seen {
  for (const event of text.split('\n\n').slice(0, -1)) {
    if (!event.startsWith('data: {')) continue;
    const chunk = JSON.parse(event.slice('data: '.length));
    if (chunk.error !== undefined)
      return { kind: 'errored', costMicro: null, errorType: chunk.error.metadata.error_type };
    if (chunk.usage !== undefined)
      return { kind: 'success', costMicro: microOf(chunk.usage.cost), errorType: null };
  }
  return unseen;
}

function microOf(won: number): bigint {
  return BigInt(Math.round(won * 1e6));
}
