import { errorTypeOf, Refusal, renderRefusal } from '../../src/errors/catalogue.ts';
import { ClientDisconnected } from '../../src/errors/request-aborted.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { parseJson } from '../../src/wire/json.ts';
import type { Reply } from '../../src/wire/reply.ts';
import type { ClientView } from './client-view.ts';
import type { SimGateway } from './gateway.ts';
import type { SimProcess } from './process.ts';
import type { Timeline } from './time.ts';

/** One request as a client sends it. */
export interface Sending {
  readonly view: ClientView;
  readonly process: SimProcess;
  readonly gateway: SimGateway;
  readonly timeline: Timeline;
  readonly key: string;
  readonly body: object;
  /** The client disconnects after this long; null: it reads to the end. */
  readonly leavesAfterMs: number | null;
  /** How long the client takes for each piece of a stream; null: no time. */
  readonly slowMs: number | null;
}

/** The error object of an error response. */
export interface ClientResponse {
  readonly errorType: string | null;
}

/** Sends a request and records exactly what the client receives. Resolves at the end. */
export function send(sending: Sending): Promise<ClientResponse> {
  const { view, process, timeline } = sending;
  const departure = new AbortController();
  const over = Promise.withResolvers<ClientResponse>();
  const end = (how: ClientView['end'], errorType: string | null = null): void => {
    if (view.end !== 'running') return;
    view.end = how;
    forget();
    leaving?.cancel();
    over.resolve({ errorType });
  };
  const forget = process.whenDead(() => end('cut'));
  const leaving =
    sending.leavesAfterMs === null
      ? null
      : timeline.after(sending.leavesAfterMs, () => {
          if (view.end !== 'running') return;
          end('left');
          departure.abort(new ClientDisconnected());
        });
  const { key, body } = sending;
  const exchange = exchangeOf(
    { id: view.id, accountId: view.accountId, process, key, body },
    { method: 'POST', path: '/api/v1/chat/completions', queryText: '', departure },
  );
  const listen = async (): Promise<void> => {
    try {
      const reply = await sending.gateway.response(exchange);
      view.generation = reply.headers?.['X-Generation-Id'] ?? null;
      if ('stream' in reply) await readStream(sending, reply, end);
      else if (process.isAlive && view.end === 'running') {
        view.status = 200;
        view.cost = costIn(reply.body as object);
        end('complete');
      }
    } catch (error) {
      if (!process.isAlive) return;
      view.status = error instanceof Refusal ? renderRefusal(error).status : 500;
      end('failed', error instanceof Refusal ? errorTypeOf(error.failure) : 'server');
    }
  };
  void listen();
  return over.promise;
}

async function readStream(
  { view, process, timeline, slowMs }: Sending,
  reply: Extract<Reply, { readonly stream: unknown }>,
  end: (how: ClientView['end'], errorType?: string | null) => void,
): Promise<void> {
  let text = '';
  view.status = 200;
  await reply.stream({
    write(piece) {
      if (!process.isAlive || view.end !== 'running') return undefined;
      text += piece;
      return slowMs === null ? undefined : timeline.pause(slowMs);
    },
  });
  if (!process.isAlive || view.end !== 'running') return;
  const events = text
    .split('\n\n')
    .filter((event) => event.startsWith('data: ') && event !== 'data: [DONE]')
    .map((event) => JSON.parse(event.slice(6)) as { readonly error?: object; readonly usage?: object });
  const error = events.find((event) => event.error !== undefined);
  const usage = events.findLast((event) => event.usage != null);
  if (error === undefined && usage !== undefined) {
    view.cost = costIn(usage);
    end('complete');
  } else end('failed', 'in_stream');
}

function costIn(body: { readonly usage?: object }): bigint {
  const { cost } = body.usage as { readonly cost: number };
  return BigInt(Math.round(cost * 1_000_000));
}

/** The request as the transport would have parsed it. */
export function exchangeOf(
  from: {
    readonly id: string;
    readonly accountId: number;
    readonly process: SimProcess;
    readonly key: string;
    readonly body: object;
  },
  to: {
    readonly method: string;
    readonly path: string;
    readonly queryText: string;
    readonly departure: AbortController;
  },
): Exchange {
  const { method, path, queryText, departure } = to;
  const headers: Record<string, string> = {
    authorization: `Bearer ${from.key}`,
    'x-title': `app ${from.accountId}`,
  };
  const exchange = {
    requestId: from.id,
    method,
    path,
    queryText,
    headers,
    socket: {},
    startedMs: from.process.clock.monotonic(),
    clientIp: '127.0.0.1',
    logFields: {},
    signal: departure.signal,
    countFor: () => {},
    // A request is followed by the id with which it was sent.
    leadTo: () => {},
    openTurns: () => null,
    leave: (reason: Error) => departure.abort(reason),
    header: (name: string) => headers[name] ?? null,
    json: async () => {
      const bytes = Buffer.from(JSON.stringify(from.body));
      return { parsed: parseJson(bytes), bytes: bytes.length };
    },
  };
  return exchange as unknown as Exchange;
}
