import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Client, Pool } from 'pg';
import { insertAccount } from '../../src/accounts/accounts-sql.ts';
import { StoredApps } from '../../src/generations/apps-sql.ts';
import { type SettlementRow, settleBatch } from '../../src/ledger/settlement-sql.ts';
import { int8ArrayOfNumbers, textArray, timestampArray } from '../../src/store/binary-arrays.ts';
import { connect, isConnectionLoss, statementTimeoutMs } from '../../src/store/connection.ts';
import { Database } from '../../src/store/database.ts';
import { sqlOver } from '../../src/store/sql.ts';
import { systemClock } from '../../src/time/clock.ts';
import { startCutter } from '../chaos/proxy.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { settlementAt } from '../harness/settlement.ts';

let testDatabase: TestDatabase;
let client: Client;
let accounts: readonly number[] = [];
const nowMs = Date.UTC(2026, 10, 21);

before(async () => {
  testDatabase = await createTestDatabase();
  client = await connect(testDatabase.address);
  const sql = sqlOver(client);
  for (const name of ['one', 'two', 'three'])
    accounts = [...accounts, await insertAccount(sql, { name, email: null, createdAtMs: nowMs })];
});
after(async () => {
  await client?.end();
  await testDatabase?.drop();
});

function rowOf(of: number, more: Partial<SettlementRow> = {}): SettlementRow {
  const payer = { accountId: accounts[of] ?? 0, keyId: 1 };
  return settlementAt(nowMs, { ...payer, day: 20_778, cost: 1_000_000n, ...more });
}

async function count(table: string): Promise<number> {
  const { rows } = await client.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`);
  return rows[0]?.n ?? -1;
}

/** What the server receives meanwhile: the names of prepared statements, and plain texts. */
async function queriesDuring(work: () => Promise<unknown>): Promise<readonly string[]> {
  const queries: string[] = [];
  const plain = client.query.bind(client) as (...given: unknown[]) => unknown;
  const listening = (first: string | { readonly name: string }, ...rest: unknown[]): unknown => {
    queries.push(typeof first === 'string' ? first : first.name);
    return plain(first, ...rest);
  };
  client.query = listening as typeof client.query;
  try {
    await work();
  } finally {
    Reflect.deleteProperty(client, 'query');
  }
  return queries;
}

test("a batch settles each new item once, reports existing ones, and returns every account's balance", async () => {
  const there = [rowOf(2), rowOf(0)];
  await settleBatch(client, there);
  const fresh = [rowOf(1, { cost: 0n }), rowOf(0), rowOf(0)];
  const { balances, replayed } = await settleBatch(client, [...fresh, ...there, ...fresh]);
  assert.deepEqual([...replayed].sort(), there.map((row) => row.uuid).sort());
  assert.deepEqual(balances.map((row) => [row.accountId, row.usage]).sort(), [
    [accounts[0], 3_000_000n],
    [accounts[1], 0n],
    [accounts[2], 1_000_000n],
  ]);
  assert.equal(await count('generation'), 5);
  assert.equal(await count('ledger'), 4);
});

test('a batch that is rejected leaves nothing, and its connection stays usable', async () => {
  const before = [await count('generation'), await count('ledger')];
  await assert.rejects(settleBatch(client, [rowOf(0), rowOf(1, { cost: -1n })]), { code: '23514' });
  await client.query('ROLLBACK');
  assert.deepEqual([await count('generation'), await count('ledger')], before);
});

test('a detail that SQL cannot read back is rejected, and one that only looks like it is stored unchanged', async () => {
  for (const text of ['\0', '\ud800', 'a\\\udfff', '😀'.slice(1)])
    await assert.rejects(settleBatch(client, [rowOf(0, { detail: JSON.stringify({ text }) })]), RangeError);
  await client.query('ROLLBACK');
  const rows = ['\\u0000', '\\\\ud800', '😀\ue000\u001f'].map((text) =>
    rowOf(0, { detail: JSON.stringify({ text }) }),
  );
  await settleBatch(client, rows);
  for (const { uuid, detail } of rows) {
    const { rows: found } = await client.query(
      "SELECT detail::text AS detail, detail->>'text' AS text FROM generation WHERE id = $1",
      [uuid],
    );
    assert.deepEqual(found, [{ detail, text: JSON.parse(detail).text }]);
  }
});

test('apps are queried until they are known to be stored, and only a commit makes them known', async () => {
  const known = new StoredApps();
  const app = { id: 7, name: 'app', url: null };
  const settle = (row: SettlementRow) => () => settleBatch(client, [row], { storedApps: known });
  await assert.rejects(settle(rowOf(0, { app, cost: -1n })), { code: '23514' });
  await client.query('ROLLBACK');
  assert.equal(await count('app'), 0);
  const first = await queriesDuring(settle(rowOf(0, { app })));
  assert.deepEqual(
    first.filter((name) => name.includes('app')),
    ['settle-apps', 'settle-new-apps', 'settle-apps'],
  );
  const second = await queriesDuring(settle(rowOf(0, { app })));
  assert.ok(!second.includes('settle-apps'));
  known.clear();
  assert.ok((await queriesDuring(settle(rowOf(0, { app })))).includes('settle-apps'));
});

test('columns in the binary format equal their source values', async () => {
  const numbers = [0, 1, -1, null, 2 ** 31, -(2 ** 32), -(2 ** 32) - 1, 2 ** 53 - 1, 1 - 2 ** 53];
  const texts = ['', null, '한글 😀', 'x'.repeat(5_000)];
  const times = [0, 1, nowMs, Date.UTC(1999, 11, 31, 23, 59, 59, 999)];
  const { rows } = await client.query({
    text: 'SELECT n::text[], t, array(SELECT (extract(epoch FROM x) * 1000)::float8 FROM unnest(i) x) AS i FROM (VALUES ($1::bigint[], $2::text[], $3::timestamptz[])) v (n, t, i)',
    values: [int8ArrayOfNumbers(numbers), textArray(texts), timestampArray(times)],
  });
  assert.deepEqual(rows, [
    { n: numbers.map((each) => (each === null ? null : String(each))), t: texts, i: times },
  ]);
  for (const none of [0.5, Number.NaN, 2 ** 53]) assert.throws(() => int8ArrayOfNumbers([none]), RangeError);
});

test('a settlement whose COMMIT is lost on the network ends at its limit; a repetition moves nothing twice', async () => {
  const cutter = await startCutter(testDatabase.address);
  const limits: (number | null)[] = [];
  const database = new Database(cutter.address, 1, null, {
    clock: systemClock,
    // As the line's own, but for the wait.
    connect: (address, limitMs) => {
      limits.push(limitMs);
      return connect(address, 300);
    },
    openPool: () => new Pool(),
  });
  const row = rowOf(0);
  const settle = () => database.serial.run((_, line) => settleBatch(line, [row]));
  try {
    cutter.onCommit(() => {
      cutter.hole();
      return 'delivered';
    });
    await assert.rejects(settle(), isConnectionLoss);
    cutter.onCommit(() => 'delivered');
    cutter.up();
    assert.deepEqual([...(await settle()).replayed], [row.uuid]);
    assert.deepEqual(limits, [statementTimeoutMs, statementTimeoutMs]);
  } finally {
    await database.close();
    await cutter.close();
  }
});
