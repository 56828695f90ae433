import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { keepHours } from '../../src/generations/analytics/rolling-sql.ts';
import { usageBy } from '../../src/generations/analytics/usage-sql.ts';
import { ensurePartitions } from '../../src/generations/partitions.ts';
import { Journal } from '../../src/ledger/journal/journal.ts';
import { encodeFinal, finalType } from '../../src/ledger/journal-records.ts';
import { pruneGenerations } from '../../src/ledger/retention.ts';
import { type SettlementRow, settleBatch } from '../../src/ledger/settlement-sql.ts';
import { Settlements } from '../../src/ledger/settlements.ts';
import { freezeView } from '../../src/ledger/verification-sql.ts';
import { silentLog } from '../../src/log/log.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { Database } from '../../src/store/database.ts';
import { openSnapshot } from '../../src/store/snapshot.ts';
import { seoulDayAt } from '../../src/time/period.ts';
import { isTableAwaited, unlessDistributed, workersOfServer } from '../harness/citus.ts';
import { until } from '../harness/until.ts';
import { findDifferences, type LedgerWorld, openLedger } from './world.ts';

// src/ledger/README.md

/** The instants at which these months of 2026 begin in Seoul. */
const march = Date.parse('2026-03-01T00:00:00+09:00');
const april = Date.parse('2026-04-01T00:00:00+09:00');
const may = Date.parse('2026-05-01T00:00:00+09:00');

/**
 * Two requests of each day from February to June, among them one that failed and one that was
 * refunded; it is 10 June.
 */
async function halfAYear(t: TestContext): Promise<LedgerWorld> {
  const ledger = await openLedger(t);
  const february = Date.parse('2026-02-01T00:00:00+09:00');
  ledger.clock.freeze(february);
  await ensurePartitions(ledger.database, ledger.clock.now());
  await ledger.grant(1_000_000n);
  let open: SettlementRow[] = [];
  for (let day = 0; day < 130; day += 1) {
    ledger.clock.freeze(february + day * 86_400_000);
    const failed = { status: 502, errorType: 'provider_error', model: null };
    const rows = [ledger.generation(BigInt(100 + day)), ledger.generation(0n, day % 3 === 0 ? failed : {})];
    open.push(...rows);
    // Ten days at once: a transaction for each day would cost more than all tests of this file.
    if (day % 10 === 0 || day === 129) {
      await ensurePartitions(ledger.database, ledger.clock.now());
      await ledger.settle(...open);
      open = [];
    }
    if (day === 20)
      await ledger.operator.refundGeneration({
        generation: rows[0]?.uuid as never,
        amount: krwOfMicro(7n),
        reason: 'r',
        idempotencyKey: null,
      });
  }
  ledger.clock.thaw();
  ledger.clock.set('2026-06-10T12:00:00+09:00');
  return ledger;
}

const prune = (ledger: LedgerWorld, beforeMs: number, dryRun = false) =>
  ledger.operator.pruneGenerations({ beforeMs, dryRun });

async function everything({ database }: LedgerWorld): Promise<string> {
  const tables = ['ledger', 'account_balance', 'credit_lot', 'key_usage_day'];
  const rows = await Promise.all(
    tables.map((table) => database.query(`SELECT * FROM ${table} ORDER BY 1, 2, 3`)),
  );
  return JSON.stringify(rows, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

test('K1: Records of months before the last may be dropped; no entry, no balance and no total of a day changes by it.', async (t) => {
  const ledger = await halfAYear(t);
  // Made in the last millisecond of March and settled in April: the record is March's, the day
  // April's.
  ledger.clock.freeze(april - 1);
  const late = ledger.generation(5_000n);
  ledger.clock.freeze(april + 60_000);
  await ledger.settle({ ...late, settledAtMs: april + 60_000, day: seoulDayAt(april + 60_000) });
  ledger.clock.freeze('2026-06-10T12:00:00+09:00');
  const before = await everything(ledger);
  const usage = { accountId: ledger.accountId, fromMs: march - 31 * 86_400_000, toMs: ledger.clock.now() };
  const byUser = () => usageBy(ledger.database, usage, { by: 'user', limit: 1, ranking: 'cost' });
  const [everyone] = await byUser();

  const planned = await prune(ledger, april, true);
  assert.deepEqual(planned, {
    kind: 'pruned',
    months: [
      { month: '2026-02', records: 56, costMicro: 28n * 100n + (27n * 28n) / 2n },
      { month: '2026-03', records: 63, costMicro: 31n * 128n + (30n * 31n) / 2n + 5_000n },
    ],
  });
  assert.equal(await everything(ledger), before);
  assert.equal((await ledger.operator.verifyLedger()).generations, 261);
  assert.deepEqual(await prune(ledger, april), planned);
  assert.equal(await everything(ledger), before);
  assert.deepEqual(await ledger.differences(), []);
  assert.equal((await ledger.operator.verifyLedger()).generations, 261 - 119);
  assert.equal(await ledger.operator.readGeneration(late.uuid as never), null);
  // Who the dropped requests were for is not known any more, but what they cost is.
  const [known, others] = await byUser();
  assert.deepEqual([everyone?.value, known?.value, others?.value], ['', '', null]);
  assert.deepEqual([others?.requests, (known?.cost ?? 0n) + (others?.cost ?? 0n)], [119n, everyone?.cost]);
  assert.deepEqual(await prune(ledger, april), { kind: 'pruned', months: [] });
  // The first of April stays.
  const kept = await Array.fromAsync(ledger.operator.exportGenerations(null));
  const [first] = (kept as { created_at: string }[]).map((row) => row.created_at).sort();
  assert.equal(first?.slice(0, 19), new Date(april).toISOString().slice(0, 19));
});

test(
  'K2: The verification finds any single number that is wrong also after a month was dropped.',
  unlessDistributed('the engine takes no random value in an update'),
  async (t) => {
    const ledger = await halfAYear(t);
    await prune(ledger, march);
    assert.deepEqual(await ledger.differences(), []);
    const one = (table: string): string => `ctid = (SELECT min(ctid) FROM ${table} WHERE cost > 0)`;
    const entry = 'id = (SELECT min(id) FROM ledger WHERE kind = 3)';
    const faults: readonly string[] = [
      `UPDATE ledger SET amount = amount - 1 WHERE ${entry}`,
      `DELETE FROM ledger WHERE ${entry}`,
      `UPDATE ledger SET generation_id = '00000000-0000-4000-8000-000000000001' WHERE ${entry}`,
      'UPDATE ledger SET amount = 200 WHERE kind = 5',
      ...['cost', 'requests', 'prompt_tokens', 'completion_tokens'].map(
        (column) => `UPDATE key_usage_day SET ${column} = ${column} + 1 WHERE ${one('key_usage_day')}`,
      ),
      ...['cost', 'requests', 'billed', 'prompt_tokens', 'completion_tokens'].map(
        (column) => `UPDATE pruned_usage SET ${column} = ${column} + 1 WHERE ${one('pruned_usage')}`,
      ),
      `DELETE FROM pruned_usage WHERE ${one('pruned_usage')}`,
      'DELETE FROM pruned_month',
      'UPDATE pruned_month SET cost = cost + 1',
      'UPDATE pruned_month SET records = records - 1',
    ];
    for (const fault of faults) assert.ok((await ledger.differencesAfter(fault)) > 0, `not found: ${fault}`);
  },
);

test('K3: Nothing is dropped of the current month and the one before it, nor from a ledger that does not agree.', async (t) => {
  const ledger = await halfAYear(t);
  ledger.clock.set('2026-06-10T12:00:00+09:00');
  for (const beforeMs of [
    may + 1,
    Date.parse('2026-06-01T00:00:00+09:00'),
    Date.parse('2030-01-01T00:00:00+09:00'),
  ])
    assert.deepEqual(await prune(ledger, beforeMs), { kind: 'too_recent', latestMs: may });
  ledger.clock.set('2026-05-31T23:59:59+09:00');
  assert.deepEqual(await prune(ledger, may), { kind: 'too_recent', latestMs: april });
  ledger.clock.set('2026-06-01T00:00:00+09:00');
  await ledger.database.query('UPDATE key_usage_day SET requests = requests + 1 WHERE day = $1', [
    '2026-06-01',
  ]);
  assert.deepEqual(await prune(ledger, may), { kind: 'books_differ' });
  assert.equal((await ledger.operator.verifyLedger()).generations, 260);
  await ledger.database.query('UPDATE key_usage_day SET requests = requests - 1 WHERE day = $1', [
    '2026-06-01',
  ]);
  const outcome = await prune(ledger, may);
  assert.deepEqual(outcome.kind === 'pruned' && outcome.months.map(({ month }) => month), [
    '2026-02',
    '2026-03',
    '2026-04',
  ]);
});

test('K4: A late settlement of a dropped month is billed once, and the ledger agrees.', async (t) => {
  const ledger = await halfAYear(t);
  ledger.clock.freeze(march - 1_000);
  const row = ledger.generation(77n);
  ledger.clock.thaw();
  ledger.clock.set('2026-06-10T12:00:00+09:00');
  await prune(ledger, april);
  const { usage } = await ledger.money();
  const settledAtMs = ledger.clock.now();
  const late = { ...row, settledAtMs, day: seoulDayAt(settledAtMs) };
  await ledger.settle(late);
  await ledger.settle(late);
  assert.equal((await ledger.money()).usage, usage + 77n);
  assert.deepEqual(await ledger.differences(), []);
  assert.ok(
    (await ledger.differencesAfter(`UPDATE generation SET cost = cost + 1 WHERE id = '${row.uuid}'`)) > 0,
  );
});

test('K5: Records may be dropped while requests are being settled.', async (t) => {
  const ledger = await halfAYear(t);
  const { clock, database } = ledger;
  clock.freeze(march - 1_000);
  const late = ledger.generation(77n);
  clock.thaw();
  // A transaction reads the records: the months wait until it is done.
  const reader = await database.connect(60_000);
  await reader.query('BEGIN');
  await reader.query('SELECT count(*) FROM generation');
  const pruning = prune(ledger, april);
  await until('the month waits for the reader', () => isTableAwaited(database.address));
  // One of the month that is about to be dropped: it is too late for the totals, and must not be
  // dropped with the records.
  const settledLate = settleUntilTaken(database, late);
  const another = new Database(database.address, 1);
  t.after(() => another.close());
  let settled = 0;
  let isPruning = true;
  const settling = (async () => {
    for (; isPruning || settled < 20; settled += 1) await settleUntilTaken(another, ledger.generation(1n));
  })();
  await until('requests are settled meanwhile', async () => settled >= 3);
  await reader.query('COMMIT');
  await reader.end();
  const outcome = await pruning.finally(() => {
    isPruning = false;
  });
  await Promise.all([settling, settledLate]);
  assert.equal(outcome.kind === 'pruned' && outcome.months.length, 2);
  assert.deepEqual(await ledger.differences(), []);
  // A shard may have taken the late one before it dropped the month: it is in the sums then.
  const dropped =
    outcome.kind === 'pruned' ? outcome.months.reduce((sum, { records }) => sum + records, 0) : 0;
  assert.ok(dropped === 118 || (workersOfServer().length > 0 && dropped === 119), `${dropped}`);
  assert.equal((await ledger.operator.verifyLedger()).generations + dropped, 260 + settled + 1);
});

/** As the settler does it: a settlement that hits the drop of a month is retried. */
async function settleUntilTaken(database: Database, row: SettlementRow): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await database.serial.run((_sql, client) => settleBatch(client, [row]));
      return;
    } catch (error) {
      if (tries === 10) throw error;
    }
  }
}

test('K6: A settlement that a journal replays for a dropped month changes nothing: no entry, no record, no total of a day.', async (t) => {
  const ledger = await openLedger(t);
  const { clock, database } = ledger;
  const dir = mkdtempSync(join(tmpdir(), 'naru-again-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const start = async () => {
    const journal = await Journal.open({ dir, clock });
    const hooks = {
      spendingNode: () => null,
      onCommitted: () => {},
      onQuarantined: () => assert.fail('nothing is refused'),
    };
    const settlements = new Settlements({
      database,
      journal,
      ack: 'journal',
      clock,
      log: silentLog,
      ...hooks,
    });
    return { journal, settlements };
  };
  clock.set('2026-03-10T12:00:00+09:00');
  await ensurePartitions(database, clock.now());
  const [billed, late, free, unended] = [40n, 60n, 0n, 50n].map((cost) => ledger.generation(cost));
  assert.ok(billed && late && free && unended);
  await ledger.settle(billed, free, unended);
  clock.set('2026-06-10T12:00:00+09:00');
  await prune(ledger, april);
  const { usage } = await ledger.money();
  // `late` never reached the database, and of `unended` the journal lost the end. The two free ones
  // have no entry.
  for (const ended of [[billed, late], [free]]) {
    const before = await start();
    for (const row of ended.includes(free) ? [free, unended] : ended) before.settlements.open(row);
    for (const row of ended) await before.journal.durable(before.journal.append(finalType, encodeFinal(row)));
    await before.journal.close();
    const after = await start();
    assert.deepEqual(await after.settlements.recover(), {
      finals: ended.length,
      orphans: ended.includes(free) ? 1 : 0,
    });
    assert.equal((await ledger.money()).usage, usage + 60n, 'what never came is billed');
    assert.deepEqual(await ledger.differences(), []);
    assert.equal((await ledger.operator.verifyLedger()).generations, 1);
    assert.equal(after.journal.stats().liveRecords, 0);
    await after.settlements.close();
  }
});

test('K7: A drop that fails leaves a ledger that agrees, whatever it dropped, and the next one drops the rest.', async (t) => {
  const ledger = await openLedger(t);
  const { clock, database, operator } = ledger;
  clock.set('2026-03-10T12:00:00+09:00');
  await ensurePartitions(database, clock.now());
  const rows: SettlementRow[] = [];
  for (let n = 0; n < 24; n += 1) {
    const payer = await ledger.addPayer(`account ${n}`);
    for (const cost of [0n, 10n, 20n]) rows.push(ledger.generation(cost, payer));
  }
  // Of each account a free one and a billed one; the third is late.
  const inTime = rows.filter((row) => row.cost < 20n);
  await ledger.settle(...inTime);
  clock.set('2026-06-10T12:00:00+09:00');

  const nowMs = clock.now();
  const options = { beforeMs: april, dryRun: false };
  let stored = 0;
  const failing = {
    lock: keepHours.lock,
    store: async (...args: Parameters<typeof keepHours.store>) => {
      stored += 1;
      // Of eight shards on two servers, some have been dropped then.
      if (stored === (workersOfServer().length > 0 ? 5 : 1)) throw new Error('the server is lost');
      await keepHours.store(...args);
    },
  };
  await assert.rejects(pruneGenerations(database, options, { nowMs, keep: failing }), /the server is lost/);
  const left = (await operator.verifyLedger()).generations;
  if (workersOfServer().length > 0) assert.ok(left > 0 && left < 48, `${left} of 48 records are left`);
  else assert.equal(left, 48);
  assert.deepEqual(await ledger.differences(), []);
  const planned = await prune(ledger, april, true);
  assert.equal(planned.kind === 'pruned' && planned.months[0]?.records, left);

  // All of them again, as a journal replays them, and the late ones for the first time.
  const settledAtMs = clock.now();
  const late = rows
    .filter((row) => row.cost === 20n)
    .map((row) => ({ ...row, settledAtMs, day: seoulDayAt(settledAtMs) }));
  const settleAll = () =>
    database.serial.run((_sql, client) =>
      settleBatch(client, [...inTime, ...late], { nowMs: settledAtMs, leftovers: [...inTime, ...late] }),
    );
  assert.equal((await settleAll()).replayed.size, 48);
  assert.equal((await settleAll()).replayed.size, 72);
  assert.deepEqual(await ledger.differences(), []);
  assert.equal((await operator.verifyLedger()).generations, left + 24);

  const [month] = await months(prune(ledger, april));
  const { generations } = await operator.verifyLedger();
  assert.equal((month?.records ?? 0) + generations, 72);
  assert.equal(month?.costMicro, BigInt(24 * 10 + ((month?.records ?? 0) - 48) * 20));
  assert.deepEqual(await ledger.differences(), []);
  assert.deepEqual(await prune(ledger, april), { kind: 'pruned', months: [] });
  assert.equal((await settleAll()).replayed.size, 72);
  assert.deepEqual(await ledger.differences(), []);
});

test('K8: A backup or a verification that has begun keeps the records of a month until it ends.', async (t) => {
  const ledger = await halfAYear(t);
  const { database } = ledger;
  const snapshot = await openSnapshot(database.address);
  const pruning = prune(ledger, march);
  await until('the month waits', () => isTableAwaited(database.address));
  let copied = 0;
  for (const reader of snapshot.readers)
    if (reader.tables.some(({ name }) => name === 'generation'))
      for await (const rows of reader.rowsOf('generation')) copied += String(rows).split('\n').length - 1;
  await snapshot.close();
  assert.equal(copied, 260);
  assert.equal((await months(pruning)).length, 1);

  // Where accounts are distributed, the verification freezes each shard as the snapshot does.
  if (workersOfServer().length > 0) return;
  const [found, later] = await database.transaction(async (sql) => {
    await freezeView(sql);
    await sql.query('SELECT 1');
    const waiting = prune(ledger, april);
    await until('the month waits', () => isTableAwaited(database.address));
    return [await findDifferences(sql), waiting] as const;
  });
  assert.deepEqual(found, []);
  assert.equal((await months(later)).length, 1);
});

async function months(pruned: ReturnType<typeof prune>) {
  const outcome = await pruned;
  return outcome.kind === 'pruned' ? outcome.months : [];
}
