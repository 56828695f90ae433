/** How many keys an account may have, over the API and the operator's commands. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInstallation } from '../cli/naru.ts';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';
import { TestClock } from '../harness/test-clock.ts';

// security:10
test('an account has at most maxKeys active keys, however many are requested concurrently', async (t) => {
  const naru = await startTestGateway({
    config: {
      keys: { max_per_account: 10 },
      edge: { rate_limit: 'external', trusted_proxies: ['192.0.2.1'] },
    },
  });
  t.after(() => naru.close());
  const account = await naru.account();
  const management = (await account.another({ kind: 'management' })).key;
  const create = () => naru.send('POST', '/keys', { key: management, body: { name: 'x' } });
  // Two are there: the one of the account and the management key.
  const responses = await Promise.all(Array.from({ length: 30 }, create));
  const made = responses.filter(({ status }) => status === 201);
  assert.equal(made.length, 8);
  for (const response of responses.filter(({ status }) => status !== 201)) {
    assertError(response, 400, 'invalid_request');
    assert.match(response.json.error.message, /최대 10개.*at most 10 keys/);
  }
  const { data } = (await naru.send('GET', '/keys', { key: management })).json;
  assert.equal(data.length, 10);
  assert.equal(
    (await naru.send('DELETE', `/keys/${made[0]?.json.data.hash}`, { key: management })).status,
    200,
  );
  assert.deepEqual([(await create()).status, (await create()).status], [201, 400]);
  const other = await naru.account();
  const theirs = (await other.another({ kind: 'management' })).key;
  assert.equal((await naru.send('POST', '/keys', { key: theirs, body: { name: 'x' } })).status, 201);
});

// security:10
test('a client that creates and revokes keys in a loop is rejected for a day after as many as an account may have', async (t) => {
  const clock = new TestClock();
  const naru = await startTestGateway({
    clock,
    config: {
      keys: { max_per_account: 5 },
      edge: { rate_limit: 'external', trusted_proxies: ['192.0.2.1'] },
    },
  });
  t.after(() => naru.close());
  const account = await naru.account();
  const management = (await account.another({ kind: 'management' })).key;
  const create = () => naru.send('POST', '/keys', { key: management, body: { name: 'x' } });
  const keys = async () => (await naru.database.query('SELECT 1 FROM api_key')).length;
  for (let n = 0; n < 5; n += 1) {
    const made = await create();
    assert.equal(made.status, 201);
    assert.equal(
      (await naru.send('DELETE', `/keys/${made.json.data.hash}`, { key: management })).status,
      200,
    );
  }
  assert.equal(await keys(), 7);
  for (const response of await Promise.all([create(), create(), create()])) {
    assertError(response, 400, 'invalid_request');
    assert.match(
      response.json.error.message,
      /24시간 동안 API 키를 5개.*revoked 5 keys in the last 24 hours/,
    );
  }
  assert.equal(await keys(), 7);
  clock.advance(86_400_000 + 1_000);
  assert.equal((await create()).status, 201);
});

test('the log has one line when an account reaches its maximum number of keys', async (t) => {
  const { address, drop } = await createTestDatabase();
  const installation = createInstallation();
  t.after(async () => {
    installation.remove();
    await drop();
  });
  const file = installation.configure({
    database: { url: urlOf(address) },
    keys: { max_per_account: 2 },
  });
  assert.equal((await installation.run('account', 'create', '--name', 'a', '--config', file)).code, 0);
  const create = () => installation.run('key', 'create', '--account', '1', '--name', 'x', '--config', file);
  assert.deepEqual([(await create()).code, (await create()).code], [0, 0]);
  const { code, err } = await create();
  assert.equal(code, 1);
  assert.match(err, /^naru: .*at most 2 keys; revoke an unused one\.\n$/);
});
