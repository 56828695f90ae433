import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import * as http from 'node:http';
import * as https from 'node:https';

/** What the users of the installation do: programs that call, owners and operators in a browser. */

/** What a client saw of all its calls. */
export interface Seen {
  complete: number;
  failed: number;
  /** What the complete ones cost, micro-won. */
  costMicro: bigint;
  /** Responses of the provider, not of an own engine. */
  fromProvider: number;
  lastId: string;
  lastFailure: string;
}

export interface Caller {
  readonly seen: Seen;
  key: string;
  /** Sends so many calls, a few at a time; a third prefers the provider, half are streams. */
  call(count: number): Promise<void>;
}

/** A program that calls through nginx with a key. */
export function startCaller(site: string, key: string): Caller {
  const seen: Seen = { complete: 0, failed: 0, costMicro: 0n, fromProvider: 0, lastId: '', lastFailure: '' };
  const caller: Caller = {
    seen,
    key,
    async call(count) {
      const turns = Array.from({ length: count }, (_, index) => index);
      const lane = async (): Promise<void> => {
        for (let turn = turns.shift(); turn !== undefined; turn = turns.shift())
          await callOnce(site, caller, turn).catch((error: unknown) => {
            seen.failed += 1;
            seen.lastFailure = String(error);
          });
      };
      await Promise.all([lane(), lane(), lane()]);
    },
  };
  return caller;
}

async function callOnce(site: string, { key, seen }: Caller, turn: number): Promise<void> {
  const stream = turn % 2 === 0;
  const prefers = turn % 3 === 0 ? { provider: { order: ['openai'] } } : {};
  const response = await fetch(`${site}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'example/chat',
      stream,
      max_tokens: 20,
      messages: [{ role: 'user', content: `나루가 뭐야? ${turn}` }],
      ...prefers,
    }),
  });
  const text = await response.text();
  const isWhole = stream ? text.trimEnd().endsWith('data: [DONE]') : true;
  const cost = /"cost":([\d.]+(?:e-\d+)?)/.exec(text)?.[1];
  if (response.status !== 200 || !isWhole || cost === undefined || text.includes('"error"'))
    throw new Error(`${response.status} ${text.slice(0, 300)}`);
  seen.complete += 1;
  seen.costMicro += BigInt(Math.round(Number(cost) * 1e6));
  seen.lastId = response.headers.get('x-service-generation-id') ?? '';
  if (text.includes('"provider":"OpenAI"')) seen.fromProvider += 1;
}

/** What a browser got. */
export interface Got {
  readonly status: number;
  readonly text: string;
  readonly location: string;
}

/** A browser of an owner or an operator, with the cookies of one site. */
export class Browser {
  readonly #cookies = new Map<string, string>();
  readonly #origin: URL;
  readonly #port: number;

  /** `origin` as the pages know it; `port` is where nginx listens. */
  constructor(origin: string, port: number) {
    this.#origin = new URL(origin);
    this.#port = port;
  }

  /** Sends a request as a page does; follows no redirect. The certificate is of the trial's own making. */
  async send(method: string, path: string, body: object = {}): Promise<Got> {
    const isTls = this.#origin.protocol === 'https:';
    const outgoing = (isTls ? https : http).request({
      host: '127.0.0.1',
      port: this.#port,
      method,
      path,
      agent: false,
      ...(isTls ? { rejectUnauthorized: false } : {}),
      headers: {
        host: this.#origin.host,
        cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(method === 'GET'
          ? {}
          : {
              origin: this.#origin.origin,
              'content-type': 'application/json',
              'idempotency-key': randomUUID(),
            }),
      },
    });
    outgoing.end(method === 'GET' ? '' : JSON.stringify(body));
    const [response] = (await once(outgoing, 'response')) as [http.IncomingMessage];
    const text = (await response.setEncoding('utf8').toArray()).join('');
    for (const line of response.headers['set-cookie'] ?? []) {
      const [pair = ''] = line.split(';');
      this.#cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    return { status: response.statusCode ?? 0, text, location: response.headers.location ?? '' };
  }
}
