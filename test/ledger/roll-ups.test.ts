/** The apps and models of settled requests: each request counts for one, once. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type App, maxApps } from '../../src/generations/apps-sql.ts';
import { decodeFinal, decodeOpen, encodeFinal, encodeOpen } from '../../src/ledger/journal-records.ts';
import { type SettlementRow, settleBatch } from '../../src/ledger/settlement-sql.ts';
import { Database } from '../../src/store/database.ts';
import { seoulDayAt } from '../../src/time/period.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { tamper } from '../harness/ledger-guards.ts';
import { insertPrice } from '../harness/price.ts';
import { settlementAt } from '../harness/settlement.ts';

let naru: TestGateway;
/** Prices that make a request cost this, whatever its size. */
const priceOf = new Map<bigint, number>();

before(async () => {
  naru = await startTestGateway();
  for (const cost of [1n, 20_000_000n]) {
    const rates = { prompt: 0n, completion: 0n, cacheRead: 0n, cacheWrite: 0n, request: cost * 1_000_000n };
    priceOf.set(cost, await insertPrice(naru.database, rates));
  }
});
after(async () => {
  await naru?.close();
});

/** A payer whose settlements a test makes directly. */
async function payer(): Promise<{ readonly accountId: number; readonly keyId: number }> {
  const account: TestAccount = await naru.account({ credit: '1000000000' });
  const key = await naru.operator.readKey(account.hash);
  assert.ok(key !== null);
  return { accountId: account.accountId, keyId: key.id };
}

function app(id: number): App {
  return { id, name: `app ${id}`, url: null };
}

function rowOf(
  of: { readonly accountId: number; readonly keyId: number },
  more: Partial<SettlementRow> = {},
) {
  const row = settlementAt(naru.clock.now(), { ...of, cost: 20_000_000n, app: app(1), ...more });
  return { ...row, priceVersion: priceOf.get(row.cost) ?? null };
}

function settle(rows: readonly SettlementRow[], database = naru.database) {
  return database.serial.run((_sql, client) => settleBatch(client, rows));
}

/**
 * `[app or model, requests, won, prompt tokens, completion tokens]` of each app or model of the
 * account, from its records.
 */
async function usageBy(what: 'app' | 'model', accountId: number): Promise<readonly unknown[]> {
  const column = what === 'app' ? 'app_id' : 'model';
  const rows = await naru.database.query<{ cells: unknown[] }>(
    `SELECT json_build_array(${column}, count(*), sum(cost) / 1000000, sum(prompt_tokens), sum(completion_tokens)) AS cells
     FROM generation WHERE account_id = $1 AND ${column} IS NOT NULL GROUP BY ${column} ORDER BY ${column}`,
    [accountId],
  );
  return rows.map((row) => row.cells);
}

async function differences(): Promise<readonly { readonly check: string; readonly subject: string }[]> {
  return (await naru.operator.verifyLedger()).differences;
}

test('a batch adds each of its requests to one app and one model, once, however often it is settled', async () => {
  const of = await payer();
  const batch = [
    rowOf(of),
    rowOf(of),
    rowOf(of, { app: app(2), model: 'test/other' }),
    rowOf(of, { app: null }),
    rowOf(of, { app: app(2), model: null, status: 400, cost: 0n, promptTokens: 0, completionTokens: 0 }),
  ];
  for (const _ of [1, 2, 3]) await settle(batch);
  await settle([...batch, rowOf(of), ...batch]);
  assert.deepEqual(await usageBy('app', of.accountId), [
    [0, 1, 20, 10, 5],
    [1, 3, 60, 30, 15],
    [2, 2, 20, 10, 5],
  ]);
  assert.deepEqual(await usageBy('model', of.accountId), [
    ['test/echo', 4, 80, 40, 20],
    ['test/other', 1, 20, 10, 5],
  ]);
  assert.deepEqual(await differences(), []);
});

test('usage counts on the Seoul day of its settlement', async () => {
  const of = await payer();
  // A minute before and after midnight in Seoul.
  const instants = ['2026-11-20T14:59:00Z', '2026-11-20T15:01:00Z'].map((text) => Date.parse(text));
  await settle(instants.map((settledAtMs) => rowOf(of, { settledAtMs, day: seoulDayAt(settledAtMs) })));
  const found = await naru.database.query<{ day: string }>(
    'SELECT day::text AS day FROM key_usage_day WHERE account_id = $1 ORDER BY day',
    [of.accountId],
  );
  assert.deepEqual(
    found.map((row) => row.day),
    ['2026-11-20', '2026-11-21'],
  );
});

test('an app keeps its first name, separately for each account', async () => {
  const [one, two] = [await payer(), await payer()];
  await settle([rowOf(one, { app: { id: 7, name: '처음', url: 'https://a.example' } })]);
  await settle([
    rowOf(one, { app: { id: 7, name: 'later', url: null } }),
    rowOf(two, { app: { id: 7, name: 'theirs', url: null } }),
  ]);
  const apps = await naru.database.query<{ name: string }>(
    'SELECT name FROM app WHERE id = 7 AND account_id = ANY ($1) ORDER BY account_id',
    [[one.accountId, two.accountId]],
  );
  assert.deepEqual(
    apps.map((row) => row.name),
    ['처음', 'theirs'],
  );
});

test('an account has a maximum number of apps: the rest is counted together, and stays so', async () => {
  const [many, other] = [await payer(), await payer()];
  const flood = Array.from({ length: maxApps + 300 }, (_, n) => rowOf(many, { app: app(n + 1) }));
  for (let at = 0; at < flood.length; at += 500) await settle(flood.slice(at, at + 500));
  await settle([rowOf(many, { app: app(maxApps + 300) }), rowOf(many), rowOf(other, { app: app(5_000) })]);
  const usage = await usageBy('app', many.accountId);
  assert.equal(usage.length, maxApps + 1);
  assert.deepEqual(usage.slice(0, 2), [
    [0, 301, 6_020, 3_010, 1_505],
    [1, 2, 40, 20, 10],
  ]);
  const stored = await naru.database.query('SELECT 1 FROM app WHERE account_id = $1', [many.accountId]);
  assert.equal(stored.length, maxApps);
  assert.deepEqual(await usageBy('app', other.accountId), [[5_000, 1, 20, 10, 5]]);
  assert.deepEqual(await differences(), []);
});

test('concurrent settlers over the same new apps and models in any order neither deadlock nor miscount', async () => {
  const payers = await Promise.all(Array.from({ length: 6 }, payer));
  const settlers = Array.from({ length: 6 }, () => new Database(naru.database.address, 1));
  const [batches, size] = [8, 24];
  try {
    await Promise.all(
      settlers.map(async (database, settler) => {
        for (let batch = 0; batch < batches; batch += 1) {
          const rows = Array.from({ length: size }, (_, n) => {
            // Every settler has its own order of them.
            const turn = settler % 2 === 0 ? n : size - 1 - n;
            const of = payers[turn % payers.length] ?? assert.fail();
            return rowOf(of, {
              app: app(1 + batch * 20 + turn),
              model: `test/${turn % 5}`,
              // A free request does not wait for its account's balance.
              cost: batch % 2 === 0 ? 0n : 1n,
            });
          });
          await settle(rows, database);
        }
      }),
    );
  } finally {
    await Promise.all(settlers.map((database) => database.close()));
  }
  const counted = await Promise.all(payers.map((of) => usageBy('app', of.accountId)));
  const requests = counted.flat().reduce<number>((sum, row) => sum + Number((row as unknown[])[1]), 0);
  assert.equal(requests, settlers.length * batches * size);
  assert.deepEqual(await differences(), []);
});

test('the verification finds usage that was changed, lost or invented, and a deleted app', async () => {
  const of = await payer();
  await settle([rowOf(of, { app: app(11) }), rowOf(of, { app: app(12) })]);
  assert.deepEqual(await differences(), []);
  const faults: readonly (readonly [sql: string, check: RegExp])[] = [
    [
      'UPDATE key_usage_day SET requests = requests + 1 WHERE account_id = $1 AND day = (SELECT min(day) FROM key_usage_day WHERE account_id = $1)',
      /^usage of the key/,
    ],
    [
      "INSERT INTO key_usage_day (account_id, key_id, day) SELECT account_id, key_id, '2026-01-01' FROM key_usage_day WHERE account_id = $1",
      /^usage of the key/,
    ],
    ['DELETE FROM app WHERE account_id = $1 AND id = 11', /^every app that is counted/],
  ];
  const known = new Set<string>();
  for (const [sql, check] of faults) {
    await tamper(naru.database, sql, [of.accountId]);
    const news = (await differences()).filter((each) => !known.has(`${each.check} ${each.subject}`));
    assert.equal(news.length, 1, sql);
    assert.match(news[0]?.check ?? '', check);
    for (const each of news) known.add(`${each.check} ${each.subject}`);
  }
});

test('the journal stores the app of a request, or that it has none', async () => {
  const row = rowOf(await payer(), { app: app(3), detail: JSON.stringify({ request_id: 'r', app: app(3) }) });
  assert.deepEqual(decodeFinal(encodeFinal(row)), row);
  const { uuid, accountId, keyId, createdAtMs, detail } = row;
  const open = { uuid, accountId, keyId, createdAtMs, detail, app: app(3) };
  assert.deepEqual(decodeOpen(encodeOpen(open)), open);
  const none = { ...row, app: null, detail: '{"request_id":"r"}' };
  assert.deepEqual(decodeFinal(encodeFinal(none)), none);
});
