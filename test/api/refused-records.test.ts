/* spec:api/16.2,16.6,16.7: the records of rejected requests, and how their owner finds them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { leadOfAccount } from '../../src/wire/ids/account-hash.ts';
import { leadOf } from '../../src/wire/ids/generation-id.ts';
import {
  startTestGateway,
  type TestAccount,
  type TestGateway,
  type TestResponse,
} from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

let upstream: Upstream;
let naru: TestGateway;

before(async () => {
  upstream = await startUpstream();
  upstream.always(reply.chat('hello there', { usage: usage(10, 5) }));
  naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

const body = { model: 'test/echo', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };
const send = (key: string, over: object = {}): Promise<TestResponse> =>
  naru.send('POST', '/chat/completions', { key, body: { ...body, ...over } });
const requestIdOf = ({ headers }: TestResponse): string =>
  headers.get('x-service-request-id') ?? assert.fail('no request id');
const find = (key: string, id: string): Promise<TestResponse> =>
  naru.send('GET', `/generation?id=${id}`, { key });

interface Row {
  readonly status: number;
  readonly error_type: string | null;
  readonly cost: bigint;
  readonly detail: { readonly refusals?: number; readonly request_id: string };
}

/**
 * The records of an account once there are this many; they are written a second after they began.
 */
async function recordsOf(accountId: number, count: number): Promise<readonly Row[]> {
  const endMs = performance.now() + 10_000;
  for (;;) {
    const rows = await naru.database.query<Row & Record<string, unknown>>(
      'SELECT status, error_type, cost, detail FROM generation WHERE account_id = $1 ORDER BY id',
      [accountId],
    );
    if (rows.length >= count) return rows;
    assert.ok(performance.now() < endMs, `${rows.length} records, not ${count}`);
    await pause(20);
  }
}

/** An account with a key that is rejected for each cause. */
const causes: readonly (readonly [string, number, (account: TestAccount) => Promise<string>])[] = [
  [
    'insufficient_credits',
    402,
    async ({ key }) => {
      await send(key);
      return key;
    },
  ],
  ['key_limit_exceeded', 402, async (account) => (await account.another({ limit: '0' })).key],
  [
    'key_suspended',
    403,
    async ({ key, hash }) => {
      await naru.operator.suspendKey({ hash, suspended: true, reason: null });
      const endMs = performance.now() + 5_000;
      while ((await naru.send('GET', '/key', { key })).status !== 403) assert.ok(performance.now() < endMs);
      return key;
    },
  ],
];

// spec:conformance/228
for (const [cause, status, refusedKey] of causes) {
  test(`requests rejected with ${status} ${cause} leave one record a second at zero cost, with a count`, async () => {
    const account = await naru.account({ credit: cause === 'insufficient_credits' ? '1' : '1000' });
    const key = await refusedKey(account);
    await naru.settled();
    const earlier = (await recordsOf(account.accountId, 0)).length;
    const startedMs = performance.now();
    const responses = await Promise.all(Array.from({ length: 30 }, () => send(key)));
    const tookMs = performance.now() - startedMs;
    for (const response of responses) assertError(response, status as 402, cause as never);
    const most = Math.floor(tookMs / 1_000) + 1;
    let rows = (await recordsOf(account.accountId, earlier + 1)).slice(earlier);
    const counted = () => rows.reduce((sum, { detail }) => sum + (detail.refusals ?? 0), 0);
    while (counted() < 30)
      rows = (await recordsOf(account.accountId, earlier + rows.length + 1)).slice(earlier);
    assert.equal(counted(), 30);
    assert.ok(rows.length <= most, `${rows.length} records in ${tookMs} ms`);
    for (const row of rows) {
      assert.deepEqual([row.status, row.error_type, row.cost], [status, cause, 0n]);
      assert.match(row.detail.request_id, /^req_[0-9a-f]{32}$/);
    }
  });
}

test('rejections on other paths, and of unknown keys, leave no record', async () => {
  const account = await naru.account({ credit: '1000', limit: '0' });
  await naru.operator.suspendKey({ hash: account.hash, suspended: true, reason: null });
  const other = await account.another();
  assert.equal((await send(`sk-naru-v1-${'0'.repeat(64)}`)).status, 401);
  const endMs = performance.now() + 5_000;
  while ((await naru.send('GET', '/credits', { key: account.key })).status !== 403)
    assert.ok(performance.now() < endMs);
  // The one after it is on record, so those before it would be.
  const last = await send(other.key);
  assert.equal(last.status, 200);
  assert.deepEqual(
    (await recordsOf(account.accountId, 1)).map(({ status }) => status),
    [200],
  );
});

test('only the owner of a failed request finds its record by the request id of the error', async () => {
  const { key, accountId } = await naru.account();
  const otherAccount = await naru.account();
  const failed = await send(key, { model: 'no/such' });
  assertError(failed, 400, 'model_not_found');
  upstream.next(reply.status(500));
  const broken = await send(key);
  assertError(broken, 502, 'provider_error');
  const response = await send(key);
  for (const [result, status] of [
    [failed, 400],
    [broken, 502],
    [response, 200],
  ] as const) {
    const id = requestIdOf(result);
    const { data } = (await find(key, id)).json;
    assert.deepEqual([data.request_id, data.status], [id, status]);
    assert.equal(leadOf(id.slice('req_'.length)), leadOfAccount(accountId), 'the id leads to the account');
    assertError(await find(otherAccount.key, id), 404, 'not_supported');
  }
  await naru.settled();
  assert.equal((await find(key, requestIdOf(failed))).json.data.status, 400, 'from the database, too');
  const byGeneration = await find(key, response.headers.get('x-service-generation-id') ?? '');
  assert.equal(byGeneration.json.data.request_id, requestIdOf(response));
  assertError(await find(key, `req_${'0'.repeat(32)}`), 404, 'not_supported');
});

test('every request counted by a rejection record is found by its own id, before and after the record is written', async () => {
  const account = await naru.account({ limit: '0' });
  const other = await account.another();
  const responses = [await send(account.key), await send(account.key), await send(account.key)];
  const look = async (): Promise<void> => {
    for (const response of responses) {
      const { data } = (await find(other.key, requestIdOf(response))).json;
      assert.deepEqual([data.status, data.error_type, data.total_cost], [402, 'key_limit_exceeded', 0]);
    }
  };
  await look();
  let counted = 0;
  for (let count = 1; counted < 3; count += 1)
    counted = (await recordsOf(account.accountId, count)).reduce(
      (sum, { detail }) => sum + (detail.refusals ?? 0),
      0,
    );
  await look();
});
