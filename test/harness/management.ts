import type { TestAccount, TestGateway, TestResponse } from './gateway.ts';

/** An account with a management key: its side of the key endpoints. */
export interface Manager {
  readonly account: TestAccount;
  readonly key: string;
  list(query?: string): Promise<TestResponse>;
  create(body: unknown): Promise<TestResponse>;
  read(hash: string): Promise<TestResponse>;
  /** A string is sent unchanged. */
  change(hash: string, body: unknown): Promise<TestResponse>;
  revoke(hash: string, body?: unknown): Promise<TestResponse>;
  /** A new inference key, created through the API. */
  issue(body?: object): Promise<{ readonly key: string; readonly hash: string }>;
}

/** A new account with credit, and a management key for it. */
export async function manager(naru: TestGateway, credit = '100000'): Promise<Manager> {
  const account = await naru.account({ credit });
  const { key } = await account.another({ kind: 'management' });
  const send = (method: string, path: string, body?: unknown): Promise<TestResponse> =>
    naru.send(method, `/keys${path}`, { key, ...(body === undefined ? {} : { body }) });
  return {
    account,
    key,
    list: (query = '') => send('GET', query),
    create: (body) => send('POST', '', body),
    read: (hash) => send('GET', `/${hash}`),
    change: (hash, body) => send('PATCH', `/${hash}`, body),
    revoke: (hash, body) => send('DELETE', `/${hash}`, body),
    async issue(body = {}) {
      const { json } = await send('POST', '', { name: 'test', ...body });
      return { key: json.key, hash: json.data.hash };
    },
  };
}
