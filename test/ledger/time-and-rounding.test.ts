import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bigInt, property, record } from 'fast-check';
import { expireCredit, expireDueCredit } from '../../src/ledger/credit.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { costOf, type Price, rateOfPico } from '../../src/money/price.ts';
import { systemClock } from '../../src/time/clock.ts';
import { periodAt, seoulDayAt } from '../../src/time/period.ts';
import { unlessDistributed } from '../harness/citus.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { insertPrice } from '../harness/price.ts';
import { check } from '../harness/property.ts';
import { TestClock } from '../harness/test-clock.ts';
import { until } from '../harness/until.ts';
import { play } from './eager-model.ts';
import { openLedger } from './world.ts';

// src/ledger/README.md

const rate = bigInt({ min: 0n, max: 10n ** 15n }).map(rateOfPico);
const tokens = bigInt({ min: 0n, max: 10n ** 7n });

test('R1: A cost is summed exactly and rounded once, half up, to the micro-won.', () => {
  const prices = record({ prompt: rate, completion: rate, request: rate, cacheRead: rate, cacheWrite: rate });
  const units = record({ plain: tokens, reads: tokens, writes: tokens, completion: tokens });
  check(
    property(prices, units, (price: Price, { plain, reads, writes, completion }) => {
      const exact =
        price.request +
        plain * price.prompt +
        reads * price.cacheRead +
        writes * price.cacheWrite +
        completion * price.completion;
      const cost = costOf(price, {
        promptTokens: Number(plain + reads + writes),
        completionTokens: Number(completion),
        cacheReadTokens: Number(reads),
        cacheWriteTokens: Number(writes),
        cacheWrite1hTokens: 0,
      });
      // Half up: at most half a micro-won above, less than half a micro-won below.
      const doubled = 2n * (exact - cost * 1_000_000n);
      assert.ok(doubled >= -1_000_000n && doubled < 1_000_000n, `${exact} became ${cost}`);
    }),
    { numRuns: 2_000 },
  );
});

test('R2: What is billed is never a float: a cost beyond 2^53 micro-won is exact to the last digit.', async (t) => {
  const ledger = await openLedger(t);
  const cost = 2n ** 53n + 1n;
  const priceVersion = await insertPrice(ledger.database, { prompt: cost });
  await ledger.settle(ledger.generation(cost, { promptTokens: 1_000_000, priceVersion }));
  assert.equal((await ledger.money()).usage, cost);
  assert.deepEqual(
    (await ledger.entries()).map(({ amount }) => amount),
    [-cost],
  );
  // The sum ends a pico-won below a half, which is rounded down: the verification is as exact.
  const almostHalf = 999_999_999_999_499_999n;
  const small = await insertPrice(ledger.database, { prompt: almostHalf });
  const down = (11n * almostHalf) / 1_000_000n;
  await ledger.settle(ledger.generation(down, { promptTokens: 11, priceVersion: small }));
  assert.deepEqual(await ledger.differences(), []);
});

test('T1: A debit belongs to the day in Seoul at which it was settled, whatever day the request was made.', async (t) => {
  const ledger = await openLedger(t);
  const midnightMs = Date.parse('2026-03-01T00:00:00+09:00');
  const created = { createdAtMs: midnightMs - 5_000 };
  const before = { ...created, settledAtMs: midnightMs - 1, day: seoulDayAt(midnightMs - 1) };
  const after = { ...created, settledAtMs: midnightMs, day: seoulDayAt(midnightMs) };
  await ledger.settle(ledger.generation(3n, before), ledger.generation(5n, after));
  const days = await ledger.database.query<{ day: string; cost: bigint }>(
    'SELECT day::text AS day, cost FROM key_usage_day WHERE key_id = $1 ORDER BY day',
    [ledger.keyId],
  );
  assert.deepEqual(days, [
    { day: '2026-02-28', cost: 3n },
    { day: '2026-03-01', cost: 5n },
  ]);
  assert.deepEqual(await ledger.differences(), []);
});

test('T2: A period contains its first instant and not its end, and there is no instant between two periods, for a hundred years of days, weeks and months.', (t) => {
  const seoul = new Intl.DateTimeFormat('en-CA', {
    timeZone: 'Asia/Seoul',
    weekday: 'short',
    day: '2-digit',
    hour: '2-digit',
    hourCycle: 'h23',
  });
  let counted = 0;
  for (const [reset, atLeast] of [
    ['daily', 36_524],
    ['weekly', 5_217],
    ['monthly', 1_200],
  ] as const) {
    const endMs = Date.parse('2100-01-01T00:00:00+09:00');
    let period = periodAt(reset, Date.parse('2000-01-01T00:00:00+09:00'));
    let periods = 0;
    while (period.startMs < endMs) {
      assert.deepEqual(periodAt(reset, period.startMs), period);
      assert.deepEqual(periodAt(reset, period.endMs - 1), period);
      const next = periodAt(reset, period.endMs);
      assert.equal(next.startMs, period.endMs);
      const { hour, weekday, day } = Object.fromEntries(
        seoul.formatToParts(period.startMs).map(({ type, value }) => [type, value]),
      );
      assert.equal(hour, '00');
      if (reset === 'weekly') assert.equal(weekday, 'Mon');
      if (reset === 'monthly') assert.equal(day, '01');
      period = next;
      periods += 1;
    }
    assert.ok(periods >= atLeast, `${periods} ${reset} periods`);
    counted += periods;
  }
  t.diagnostic(`${counted} periods`);
  assert.ok(counted > 42_000);
});

test('T3: Credit is lost at the instant of its expiry and not a millisecond before.', async (t) => {
  const ledger = await openLedger(t);
  const atMs = Date.parse('2027-01-01T00:00:00+09:00');
  await ledger.grant(100n, { expiresAtMs: atMs });
  assert.equal(await expireCredit(ledger.database, atMs - 1), 0);
  assert.equal((await ledger.money()).balance, 100n);
  assert.equal(await expireCredit(ledger.database, atMs), 1);
  assert.equal((await ledger.money()).balance, 0n);
});

test('an account without expiring credit keeps nothing of other accounts in memory', async (t) => {
  const ledger = await openLedger(t);
  const { database, operator, accountId: broken } = ledger;
  const atMs = ledger.clock.now();
  const after = await operator.createAccount({ name: 'after', email: null });
  const lot = { kind: 'bonus', idempotencyKey: null, memo: null, expiresAtMs: atMs } as const;
  for (const accountId of [broken, after])
    await operator.grantCredit({ ...lot, accountId, amount: krwOfMicro(7n) });
  await database.query(
    `ALTER TABLE ledger ADD CONSTRAINT broken CHECK (account_id <> ${broken} OR amount > 0)`,
  );
  await assert.rejects(expireCredit(database, atMs), new RegExp(`account ${broken}\\b`));
  const left = await operator.readAccount(after);
  assert.deepEqual([left?.credits, left?.usage], [7n, 7n]);
});

// spec:money/3.5
// Without the database: test/ledger/lots.test.ts.
test('T4: Credit is spent in the order of its expiry, then of its age, as if every debit had been charged at once.', async (t) => {
  const { checkpoints, expiries } = await play(t, { rounds: 40, seed: 20_261_121 });
  assert.ok(checkpoints >= 300 && expiries > 10, `${checkpoints} checkpoints, ${expiries} expiries`);
});

test('T5: A clock that is set back restores no expired credit, and one that is set forward and back expires it once.', async (t) => {
  const ledger = await openLedger(t);
  const atMs = ledger.clock.now() + 1_000;
  await ledger.grant(100n, { expiresAtMs: atMs });
  await expireCredit(ledger.database, atMs + 86_400_000);
  await expireCredit(ledger.database, atMs - 86_400_000);
  await expireCredit(ledger.database, atMs + 86_400_000);
  assert.deepEqual(
    (await ledger.entries()).map(({ kind, amount }) => [kind, amount]),
    [
      ['topup', 100n],
      ['expiry', -100n],
    ],
  );
  assert.deepEqual(await ledger.differences(), []);
});

test('T6: Usage that is written after credit has expired is charged to the credit that was valid when it was settled, as if it had been written in time.', async (t) => {
  const ledger = await openLedger(t);
  const { clock, database } = ledger;
  const atMs = clock.now();
  clock.freeze(atMs);
  const early = ledger.generation(70n, { settledAtMs: atMs - 20 });
  const late = [
    ledger.generation(30n, { settledAtMs: atMs + 900 }),
    ledger.generation(45n, { settledAtMs: atMs + 1_999 }),
    ledger.generation(500n, { settledAtMs: atMs + 2_000 }),
  ];
  // Two that expire one after the other, one that stays, and one that is granted after the first
  // usage.
  await ledger.grant(100n, { expiresAtMs: atMs + 1_000 });
  await ledger.grant(60n, { expiresAtMs: atMs + 2_000 });
  await ledger.grant(1_000n);
  await ledger.settle(ledger.generation(80n));
  await expireCredit(database, atMs + 5_000);
  assert.deepEqual(await ledger.money(), { credits: 1_160n, usage: 80n + 20n + 60n, balance: 1_000n });
  await ledger.settle(early, ...late);
  // Of the first, 20 had expired that the usage before its expiry spent; of the second, the rest of
  // that and 45. The last one arrived at the instant of expiry, and what was used before any grant
  // is spent from what existed when it arrived.
  const entries = await ledger.entries();
  assert.deepEqual(
    entries.filter(({ kind }) => kind === 'expiry').map(({ amount }) => amount),
    [-20n, -60n, 20n, 55n],
  );
  const { usage, balance } = await ledger.money();
  assert.equal(balance, 1_000n - 70n - 500n);
  assert.equal(usage, 80n + 70n + 30n + 45n + 500n + 5n, 'what expired and what was used, each once');
  const settled = await ledger.settle(early, ...late);
  assert.equal(settled.replayed.size, 4);
  assert.equal((await ledger.money()).usage, usage, 'a replay takes nothing back again');
  assert.deepEqual(await ledger.differences(), []);
  await expireCredit(database, atMs + 10_000);
  await ledger.grant(1n);
  assert.deepEqual(await ledger.differences(), []);
});

test('T7: Credit expires by the clock of the database, whatever the clocks of the nodes show, and a node whose clock differs reports it.', async (t) => {
  const ahead = new TestClock();
  ahead.advance(7_200_000);
  const naru = await startTestGateway({ clock: ahead, followsDatabase: true });
  t.after(() => naru.close());
  const { accountId } = await naru.account({ credit: '0' });
  const grant = { accountId, kind: 'topup', idempotencyKey: null, memo: null } as const;
  const realMs = systemClock.now();
  await naru.operator.grantCredit({ ...grant, amount: krwOfMicro(5n), expiresAtMs: realMs + 3_600_000 });
  await naru.operator.grantCredit({ ...grant, amount: krwOfMicro(7n), expiresAtMs: realMs - 1_000 });
  const usage = async () => (await naru.operator.readAccount(accountId))?.usage;
  const what = 'what has expired by the clock of the database is taken';
  await until(what, async () => (await usage()) === 7n, 20_000);
  assert.equal(await expireDueCredit(naru.database), 0);
  assert.equal(await usage(), 7n);
  const warning = naru.logged.find(({ event }) => event === 'clock_skew');
  assert.ok(Math.abs(Number(warning?.['ahead_ms']) - 7_200_000) < 5_000, JSON.stringify(warning));
  const page = await fetch(`http://127.0.0.1:${naru.gateway.admin.port}/metrics`);
  const metrics = await page.text();
  assert.match(metrics, /^naru_clock_ahead_seconds (7199|7200)/m);
});

test(
  'T8: The credit of 20,000 accounts that expires at one instant is gone within one run of the job.',
  unlessDistributed('it makes 20,000 accounts in longer than the limit of a test'),
  async (t) => {
    const ledger = await openLedger(t);
    const { database } = ledger;
    const atMs = Date.parse('2027-01-01T00:00:00+09:00');
    await database.transaction(async (sql) => {
      await sql.query(
        `INSERT INTO account (name, created_at) SELECT 'a', now() FROM generate_series(1, 20000)`,
      );
      await sql.query(
        `INSERT INTO account_balance (account_id, balance, credits) SELECT id, 10, 10 FROM account WHERE name = 'a'`,
      );
      await sql.query(
        `INSERT INTO credit_lot (account_id, kind, amount, remaining, expires_at, granted_at)
       SELECT id, 1, 10, 10, to_timestamp($1::float8 / 1000), now() FROM account WHERE name = 'a'`,
        [atMs],
      );
    });
    const beganMs = performance.now();
    assert.equal(await expireCredit(database, atMs), 20_000);
    t.diagnostic(`${Math.round(performance.now() - beganMs)} ms`);
    const [left] = await database.query<{ usage: bigint; entries: bigint }>(
      'SELECT sum(usage)::bigint AS usage, (SELECT count(*) FROM ledger WHERE kind = 4) AS entries FROM account_balance',
    );
    assert.deepEqual(left, { usage: 200_000n, entries: 20_000n });
    // One transaction for each account would take minutes for many of them.
    const [written] = await database.query<{ transactions: bigint }>(
      'SELECT count(DISTINCT xmin::text) AS transactions FROM ledger WHERE kind = 4',
    );
    assert.ok(Number(written?.transactions) <= 100, `${written?.transactions} transactions`);
  },
);
