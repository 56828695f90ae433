import { type Dispatcher, request } from 'undici';
import type { TestResponse } from '../harness/gateway.ts';
import type { RawResponse } from '../harness/raw-client.ts';

/** A raw response in the form of the response rules; without `Server`, which nginx cannot omit. */
export function asResponse({ status, headers, body }: RawResponse): TestResponse {
  const kept = headers.filter(([name]) => name !== 'server');
  return responseOf(status, new Headers(kept.map(([name, value]): [string, string] => [name, value])), body);
}

/** What a request through the edge may have. */
export interface Through {
  readonly method?: Dispatcher.HttpMethod;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly dispatcher?: Dispatcher;
}

/** One request through the edge by an ordinary client that keeps its connections. */
export async function through(url: string, options: Through = {}): Promise<TestResponse> {
  const { method = 'GET', key, headers: more, body = null, dispatcher } = options;
  const got = await request(url, {
    method,
    headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...more },
    body,
    ...(dispatcher === undefined ? {} : { dispatcher }),
  });
  const { server: _, ...kept } = got.headers;
  const headers = new Headers();
  for (const [name, value] of Object.entries(kept))
    for (const each of [value ?? []].flat()) headers.append(name, each);
  return responseOf(got.statusCode, headers, await got.body.text());
}

function responseOf(status: number, headers: Headers, text: string): TestResponse {
  return {
    status,
    headers,
    text,
    get json() {
      return JSON.parse(text);
    },
  };
}
