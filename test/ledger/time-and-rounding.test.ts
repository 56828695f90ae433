import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bigInt, property, record } from 'fast-check';
import { expireCredit } from '../../src/ledger/credit.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { costOf, type Price, rateOfPico } from '../../src/money/price.ts';
import { periodAt, seoulDayAt } from '../../src/time/period.ts';
import { insertPrice } from '../harness/price.ts';
import { check } from '../harness/property.ts';
import { numbersOf, play } from './eager-model.ts';
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

test('T2: A period holds its first instant and not its last, and there is no instant between two periods, for a hundred years of days, weeks and months.', (t) => {
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

test('an account whose credit cannot expire keeps that of nobody else', async (t) => {
  const ledger = await openLedger(t);
  const { database, office, accountId: broken } = ledger;
  const atMs = ledger.clock.now();
  const after = await office.createAccount({ name: 'after', email: null });
  const lot = { kind: 'bonus', idempotencyKey: null, memo: null, expiresAtMs: atMs } as const;
  for (const accountId of [broken, after])
    await office.grantCredit({ ...lot, accountId, amount: krwOfMicro(7n) });
  await database.query(
    `ALTER TABLE ledger ADD CONSTRAINT broken CHECK (account_id <> ${broken} OR amount > 0)`,
  );
  await assert.rejects(expireCredit(database, atMs), new RegExp(`account ${broken}\\b`));
  const left = await office.readAccount(after);
  assert.deepEqual([left?.credits, left?.usage], [7n, 7n]);
});

test('T4: Credit is spent in the order of its expiry, then of its age, as if every debit had been charged at once.', async (t) => {
  const { checkpoints, expiries } = await play(t, { rounds: 40, seed: 20_261_121 });
  assert.ok(checkpoints >= 300 && expiries > 10, `${checkpoints} checkpoints, ${expiries} expiries`);
  // Without the database: the same model against the same rules, ten thousand times and more.
  const numbers = numbersOf({ runs: 600, stepsEach: 30, seed: 7 });
  t.diagnostic(
    `${checkpoints} checkpoints with the database, ${numbers.checkpoints} without, ${expiries} expiries`,
  );
  assert.ok(numbers.checkpoints >= 10_000, `${numbers.checkpoints} checkpoints`);
});

test('T5: A clock that goes back revives nothing that has expired, and one that goes forth and back expires it once.', async (t) => {
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
