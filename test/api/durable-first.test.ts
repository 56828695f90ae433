/**
 * A success is durable before the client can see that it is complete (spec:money/5.1). With `ack:
 * database` durable means committed, and a lock on the account's balance prevents that for as long
 * as a test needs.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { workersOfServer } from '../harness/citus.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { eventsOf } from '../harness/stream.ts';
import { until } from '../harness/until.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

before(async () => {
  upstream = await startUpstream();
  naru = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url] }],
    config: { settlement: { ack: 'database' } },
  });
  account = await naru.account();
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

/** Locks the account's balance like a long foreign transaction; returns the release. */
async function lockBalance(): Promise<() => Promise<void>> {
  const client = new Client(naru.database.address);
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT 1 FROM account_balance WHERE account_id = $1 FOR UPDATE', [account.accountId]);
  return async () => {
    await client.query('ROLLBACK');
    await client.end();
  };
}

/** On a distributed database it waits on the server that has the account. */
const waits =
  workersOfServer().length > 0
    ? 'SELECT count(*) AS n FROM citus_lock_waits'
    : "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";

/** Resolves when the gateway's settlement waits for the lock. */
async function settlementWaits(): Promise<void> {
  await until(
    'a settlement that waits',
    async () => {
      const [row] = await naru.database.query<{ n: bigint }>(waits);
      return row !== undefined && row.n > 0n;
    },
    20_000,
  );
}

function send(stream: boolean): Promise<Response> {
  return fetch(`${naru.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/echo', stream, messages: [{ role: 'user', content: 'x' }] }),
  });
}

test('a stream sends neither its end nor its cost before both are committed', async () => {
  // The account is in memory before its row is locked: reading it must not be what waits.
  upstream.next(reply.chat('warm', { usage }));
  await (await send(false)).text();
  upstream.next(reply.stream(['안', '녕'], { usage }));
  const unlock = await lockBalance();
  const response = await send(true);
  let seen = '';
  const reading = (async () => {
    for await (const piece of response.body ?? []) seen += Buffer.from(piece).toString();
  })();
  await settlementWaits();
  // One more turn through the socket: what was written before the settlement has arrived.
  await naru.send('GET', '/models');
  assert.match(seen, /녕/, 'the words are passed on as they come');
  assert.doesNotMatch(seen, /"finish_reason":"stop"|"usage"|\[DONE\]/);
  await unlock();
  await reading;
  const events = eventsOf(seen);
  assert.equal(events.at(-1)?.data, '[DONE]');
  assert.equal(events.at(-2)?.json.usage.cost, 20);
});

test('a JSON response does not begin before its charge is committed', async () => {
  upstream.next(reply.chat('네', { usage }));
  const unlock = await lockBalance();
  let hasBegun = false;
  const response = send(false).then((result) => {
    hasBegun = true;
    return result;
  });
  await settlementWaits();
  await naru.send('GET', '/models');
  assert.equal(hasBegun, false);
  await unlock();
  assert.equal((await response).status, 200);
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
});
