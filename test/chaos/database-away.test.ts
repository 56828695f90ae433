import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestAccount, TestGateway, TestResponse } from '../harness/gateway.ts';
import { createPayer } from '../harness/payer.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';
import { startBehindCutter } from './gateway-behind-cutter.ts';

const script = { act: 'respond', wordCount: 5, waitMs: 0, prompt: 10 };
const request = { model: 'test/echo', messages: [{ role: 'user', content: JSON.stringify(script) }] };

const send = (naru: TestGateway, key: string) =>
  naru.send('POST', '/chat/completions', { key, body: request });

/** Every call that needs the database. */
const calls: readonly (readonly [
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
])[] = [
  ['POST', '/chat/completions', request],
  ['POST', '/completions', { model: 'test/echo', prompt: JSON.stringify(script) }],
  ...['/key', '/auth/key', '/credits', '/models/user', '/benchmarks', '/datasets/app-rankings'].map(
    (path) => ['GET', path] as const,
  ),
  ['GET', '/datasets/rankings-daily'],
  ['GET', `/generation?id=req_${'0'.repeat(12)}7${'0'.repeat(3)}8${'0'.repeat(15)}`],
  ['GET', '/keys'],
  ['POST', '/keys', { name: 'one' }],
  ...(['GET', 'DELETE'] as const).map((method) => [method, `/keys/${'a'.repeat(64)}`] as const),
  ['PATCH', `/keys/${'a'.repeat(64)}`, { name: 'two' }],
];

for (const mode of ['down', 'hole'] as const) {
  // spec:errors/11
  test(`while the database is away (${mode}), what needs it gets 500 at once, and is recorded afterwards`, async (t) => {
    const { naru, cutter, operator } = await startBehindCutter(t);
    const [stays, revoked, poor] = [
      await naru.account(),
      await naru.account(),
      await naru.account({ credit: '1' }),
    ];
    for (const account of [stays, revoked, poor]) assert.equal((await send(naru, account.key)).status, 200);
    const management = await stays.another({ kind: 'management' });
    assert.equal((await naru.send('GET', '/keys', { key: management.key })).status, 200);
    await naru.settled();
    const seen = naru.logged.length;
    const fresh = await createPayer(operator, '500', 1);
    const freshKey = fresh.keys[0]?.key ?? '';

    cutter[mode]();
    const awayMs = performance.now();
    // Memory does not have this key: it is being read when the database goes.
    assertAway(await send(naru, freshKey));
    assert.ok(performance.now() - awayMs < scaledLimit(1_500), `${performance.now() - awayMs} ms`);
    await operator.revokeKey(revoked.hash);
    await topUp(operator, poor.accountId, 1000n);
    await until('memory is stale', async () => (await naru.send('GET', '/key', stays)).status === 500, 2_000);
    const sent: [string, Promise<TestResponse>][] = [];
    for (const key of [stays.key, management.key, revoked.key, freshKey, 'sk-naru-v1-unknown'])
      for (const [method, path, body] of calls)
        sent.push([`${method} ${path}`, naru.send(method, path, { key, ...(body && { body }) })]);
    const beganMs = performance.now();
    for (const [call, response] of sent) assertAway(await response, call);
    const tookMs = performance.now() - beganMs;
    assert.ok(tookMs < scaledLimit(500), `${sent.length} calls in ${tookMs} ms`);
    for (const path of ['/models', '/providers', '/models/count'])
      assert.equal((await naru.send('GET', path)).status, 200, path);
    assert.equal((await naru.send('GET', '/key')).status, 401, 'no key: that needs no database');
    cutter.up();
    const backMs = performance.now();
    await until('it serves', async () => (await naru.send('GET', '/key', stays)).status === 200, 10_000);
    const recoveredMs = performance.now() - backMs;
    assert.ok(recoveredMs < scaledLimit(mode === 'down' ? 1_000 : 6_000), `after ${recoveredMs} ms`);
    const awaySec = Math.ceil((performance.now() - awayMs) / 1_000);
    assert.deepEqual(
      [
        await send(naru, revoked.key),
        await send(naru, poor.key),
        await send(naru, freshKey),
        await send(naru, 'sk-naru-v1-unknown'),
      ].map(({ status }) => status),
      [401, 200, 200, 401],
    );
    const lines = naru.logged.slice(seen).map(({ event }) => event);
    assert.equal(lines.filter((event) => event === 'internal_error').length, 0);
    const away = lines.filter((event) => event === 'database_away').length;
    assert.ok(away > 0 && away <= awaySec + 1, `${away} lines in ${awaySec} s`);
    assert.ok(lines.filter((event) => event === 'change_feed_lost').length <= 2);
    const refused = await naru.metric('naru_refused_without_database_total');
    assert.ok(refused >= sent.length, `${refused} counted`);
    // Each call of a model is in a record, at no cost.
    for (const [accountId, count] of [
      [stays.accountId, 2],
      [fresh.accountId, 3],
    ] as const) {
      const counted = async (): Promise<number> => {
        const [row] = await naru.database.query<{ n: number }>(
          `SELECT coalesce(sum((detail->>'refusals')::int), 0)::int AS n FROM generation
           WHERE account_id = $1 AND status = 500 AND error_type = 'server' AND cost = 0`,
          [accountId],
        );
        return row?.n ?? 0;
      };
      await until(`the records of ${accountId}`, async () => (await counted()) >= count, 10_000);
      assert.equal(await counted(), count);
    }
    await assertExact(naru, [stays, poor]);
  });
}

test('streams in flight go on without the database, and settle', async (t) => {
  const { naru, cutter } = await startBehindCutter(t);
  const account = await naru.account();
  assert.equal((await send(naru, account.key)).status, 200);
  const slow = { ...script, act: 'slow', wordCount: 20, waitMs: 150 };
  const stream = naru.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'test/echo', stream: true, messages: [{ role: 'user', content: JSON.stringify(slow) }] },
  });
  await sleep(500);
  cutter.down();
  const { status, text } = await stream;
  assert.equal(status, 200);
  assert.match(text, /"finish_reason":"stop"[\s\S]*\[DONE\]/);
  assert.equal((await naru.send('GET', '/key', account)).status, 500, 'it is still away');
  cutter.up();
  await until('it serves again', async () => (await send(naru, account.key)).status === 200, 5_000);
  await assertExact(naru, [account]);
});

function assertAway(response: TestResponse, call = ''): void {
  const { status, json, headers } = response;
  assert.equal(status, 500, `${call}: ${response.text}`);
  assert.equal(json.error.metadata.error_type, 'server', call);
  assert.ok(json.error.metadata.retry_after_sec >= 1, call);
  assert.equal(headers.get('retry-after'), String(json.error.metadata.retry_after_sec), call);
}

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
