import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { eventsOf } from '../harness/stream.ts';
import { until } from '../harness/until.ts';
import { startUpstream } from '../harness/upstream.ts';

const request = { model: 'test/echo', messages: [{ role: 'user', content: 'hello' }] };
const poison = { 'x-title': 'poison' };

async function open(t: TestContext, ack: 'journal' | 'database'): Promise<TestGateway> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const naru = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url] }],
    config: { settlement: { ack } },
    expectsInternalErrors: ack === 'database',
  });
  t.after(() => naru.close());
  await naru.database.query(
    "ALTER TABLE generation ADD CONSTRAINT taste CHECK (detail->>'title' IS DISTINCT FROM 'poison')",
  );
  return naru;
}

const quarantined = (naru: TestGateway) =>
  naru.logged.filter((line) => line['event'] === 'settlement_quarantined');

async function usageOf(naru: TestGateway, key: string): Promise<readonly number[]> {
  const credits = await naru.send('GET', '/credits', { key });
  const ofKey = await naru.send('GET', '/key', { key });
  return [credits.json.data.total_usage, ofKey.json.data.usage];
}

test('a row that the database rejects is quarantined, the rest of its batch is settled, and a retry settles it', async (t) => {
  const naru = await open(t, 'journal');
  const account = await naru.account({ credit: '10000000' });
  const responses = await Promise.all(
    Array.from({ length: 24 }, (_, n) =>
      naru.send('POST', '/chat/completions', {
        key: account.key,
        body: request,
        ...(n === 11 ? { headers: poison } : {}),
      }),
    ),
  );
  assert.ok(responses.every((response) => response.status === 200));
  await naru.settled();
  assert.equal(quarantined(naru).length, 1);
  assert.equal(quarantined(naru)[0]?.['level'], 'error');
  assert.equal((await Array.fromAsync(naru.operator.exportGenerations(account.accountId))).length, 23);
  await until(
    'it is quarantined',
    async () => (await naru.operator.readQuarantine(false)).length === 1,
    5_000,
  );
  assert.equal((await naru.operator.verifyLedger()).differences.length, 1);
  assert.deepEqual(await usageOf(naru, account.key), [23 * 20, 23 * 20], 'memory agrees with the ledger');

  await naru.database.query('ALTER TABLE generation DROP CONSTRAINT taste');
  await naru.stop();
  const recovered = await startTestGateway({ models: [], after: naru });
  t.after(() => recovered.close());
  assert.deepEqual([...(await recovered.operator.retryQuarantined(null)).values()], [null]);
  await until(
    'it is charged',
    async () => String(await usageOf(recovered, account.key)) === '480,480',
    5_000,
  );
  assert.deepEqual((await recovered.operator.verifyLedger()).differences, []);
});

test('with ack: database no client gets a success for a rejected row', async (t) => {
  const naru = await open(t, 'database');
  const account = await naru.account();
  const options = { key: account.key, headers: poison };
  const whole = await naru.send('POST', '/chat/completions', { ...options, body: request });
  assert.equal(whole.status, 500);
  const streamed = await naru.send('POST', '/chat/completions', {
    ...options,
    body: { ...request, stream: true },
  });
  assert.equal(eventsOf(streamed.text).at(-2)?.json.error.metadata.error_type, 'server');
  const fine = await naru.send('POST', '/chat/completions', { key: account.key, body: request });
  assert.equal(fine.status, 200);
  await until(
    'memory has both charges',
    async () => String(await usageOf(naru, account.key)) === '20,20',
    1_000,
  );

  await naru.database.query('ALTER TABLE generation DROP CONSTRAINT taste');
  await naru.stop();
  const resolved = await startTestGateway({ models: [], after: naru });
  t.after(() => resolved.close());
  assert.deepEqual([...(await resolved.operator.retryQuarantined(null)).values()], [null, null]);
  assert.deepEqual(
    await usageOf(resolved, account.key),
    [20, 20],
    'a request that was reported as failed is never billed',
  );
  assert.equal((await Array.fromAsync(resolved.operator.exportGenerations(account.accountId))).length, 3);
  assert.deepEqual((await resolved.operator.verifyLedger()).differences, []);
});
