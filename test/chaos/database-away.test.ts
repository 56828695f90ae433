import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestAccount, TestGateway } from '../harness/gateway.ts';
import { createPayer } from '../harness/payer.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';
import { startBehindCutter } from './gateway-behind-cutter.ts';

const script = { act: 'respond', wordCount: 5, waitMs: 0, prompt: 10 };
const request = { model: 'test/echo', messages: [{ role: 'user', content: JSON.stringify(script) }] };

const send = (naru: TestGateway, key: string) =>
  naru.send('POST', '/chat/completions', { key, body: request });

test('a change by another process takes effect within a second', async (t) => {
  const { naru, operator } = await startBehindCutter(t);
  const account = await naru.account({ credit: '5' });
  assert.equal((await send(naru, account.key)).status, 200);
  assert.equal((await send(naru, account.key)).status, 402, 'the first response cost 20 won');

  await topUp(operator, account.accountId, 1000n);
  assert.ok((await untilStatus(naru, account.key, 200)) < scaledLimit(1_000), 'a top-up');
  await operator.revokeKey(account.hash);
  assert.ok((await untilStatus(naru, account.key, 401)) < scaledLimit(1_000), 'a revocation');

  const foreign = await createPayer(operator, '0.000001', 1);
  assert.equal((await send(naru, foreign.keys[0]?.key ?? '')).status, 200, 'a key of another process');
});

test('three seconds without the database reject no request, and changes apply within a second afterwards', async (t) => {
  const { naru, cutter, operator } = await startBehindCutter(t);
  const [stays, revoked, poor] = [
    await naru.account(),
    await naru.account(),
    await naru.account({ credit: '1' }),
  ];
  for (const account of [stays, revoked, poor]) assert.equal((await send(naru, account.key)).status, 200);
  await naru.settled();

  cutter.down();
  const awayMs = performance.now();
  const fresh = await createPayer(operator, '500', 1);
  await operator.revokeKey(revoked.hash);
  await topUp(operator, poor.accountId, 1000n);
  await until('memory is stale', async () => (await naru.send('GET', '/readyz')).status === 503, 2_000);
  assert.equal((await naru.send('GET', '/models')).status, 200);
  // These wait for the database; none of them may get a response from stale data.
  const waiting = [stays.key, revoked.key, poor.key, fresh.keys[0]?.key ?? ''].map((key) => send(naru, key));
  await sleep(Math.max(0, 3_000 - (performance.now() - awayMs)));
  cutter.up();
  const backMs = performance.now();
  const statuses = (await Promise.all(waiting)).map((response) => response.status);
  assert.deepEqual(statuses, [200, 401, 200, 200]);
  const recoveredMs = performance.now() - backMs;
  assert.ok(recoveredMs < scaledLimit(1_000), `after ${recoveredMs} ms`);
  await assertExact(naru, [stays, revoked, poor]);
});

test('a longer outage returns only 500, and the process keeps running', async (t) => {
  const { naru, cutter } = await startBehindCutter(t);
  const account = await naru.account();
  assert.equal((await send(naru, account.key)).status, 200);
  cutter.down();
  await until('memory is stale', async () => (await naru.send('GET', '/readyz')).status === 503, 2_000);
  const responses = await Promise.all([
    send(naru, account.key),
    send(naru, 'sk-naru-v1-unknown'),
    naru.send('GET', '/credits', { key: account.key }),
  ]);
  for (const response of responses) {
    assert.equal(response.status, 500);
    assert.equal(response.json.error.metadata.error_type, 'server');
  }
  assert.equal((await naru.send('GET', '/models')).status, 200);
  const lost = naru.logged.filter((line) => line['event'] === 'change_feed_lost');
  assert.ok(lost.length <= 2, `logged ${lost.length} times`);
  cutter.up();
  await until('it serves again', async () => (await send(naru, account.key)).status === 200, 5_000);
  await assertExact(naru, [account]);
});

function topUp(operator: TestGateway['operator'], accountId: number, won: bigint): Promise<unknown> {
  const amount = (won * 1_000_000n) as Parameters<typeof operator.grantCredit>[0]['amount'];
  return operator.grantCredit({
    accountId,
    kind: 'topup',
    amount,
    expiresAtMs: null,
    idempotencyKey: null,
    memo: null,
  });
}

/** Milliseconds until requests with the key get this response. */
function untilStatus(naru: TestGateway, key: string, status: number): Promise<number> {
  return until(`status ${status}`, async () => (await send(naru, key)).status === status, 5_000);
}

async function assertExact(naru: TestGateway, accounts: readonly TestAccount[]): Promise<void> {
  await naru.settled();
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
  for (const { accountId } of accounts) {
    const row = await naru.operator.readAccount(accountId);
    const entries = await Array.fromAsync(naru.operator.exportEntries(accountId));
    const sum = entries.reduce((total, entry) => total + entry.amountMicro, 0n);
    assert.equal(row === null ? null : row.credits - row.usage, sum);
  }
}
