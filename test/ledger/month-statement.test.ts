import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expireCredit } from '../../src/ledger/credit.ts';
import { readLiability } from '../../src/ledger/liability-sql.ts';
import { monthStatements, taxOf } from '../../src/ledger/month-statement.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { seoulIsoOf } from '../../src/time/period.ts';
import type { GenerationUuid } from '../../src/wire/ids/generation-id.ts';
import { openLedger } from './world.ts';

const vat = { percent: '10', included: true };
const always = { fromDay: '1970-01-01', toDay: '9999-12-31' };

// spec:money/3.10
test('the statements of months are the entries of the ledger, and bonus credit is apart as in its lots', async (t) => {
  const ledger = await openLedger(t);
  const { database, clock, operator } = ledger;
  const others = [await ledger.addPayer('second'), await ledger.addPayer('third')];
  const payers = [{ accountId: ledger.accountId, keyId: ledger.keyId }, ...others];
  const hourMs = 3_600_000;
  // Three months, with steps that end at midnight in Seoul and one millisecond before it.
  const startMs = Date.parse('2025-10-31T00:00:00+09:00');
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  let nowMs = startMs;
  for (let step = 0; step < 120; step += 1) {
    nowMs = startMs + Math.floor(step / 2) * 24 * hourMs + (step % 2) * (24 * hourMs - 1);
    clock.freeze(nowMs);
    const { accountId, keyId } = payers[random(3)] ?? assert.fail();
    const amount = BigInt(1 + random(3_000_000));
    if (random(3) > 0) {
      // Some of it was settled before credit expired, and arrives after it.
      const row = ledger.generation(amount, {
        accountId,
        keyId,
        settledAtMs: nowMs - random(2) * 30 * hourMs,
      });
      await ledger.settle({ ...row, day: Math.floor((row.settledAtMs + 9 * hourMs) / (24 * hourMs)) });
      if (random(8) === 0)
        await operator.refundGeneration({
          generation: row.uuid as GenerationUuid,
          amount: null,
          reason: 'x',
          idempotencyKey: null,
        });
    } else
      await operator.grantCredit({
        ...{ accountId, kind: random(2) === 0 ? 'topup' : 'bonus', amount: krwOfMicro(amount) },
        expiresAtMs: random(2) === 0 ? null : nowMs + (1 + random(400)) * hourMs,
        ...{ idempotencyKey: null, memo: null },
      });
    await expireCredit(database, nowMs);
  }
  const ofLedger = new Map<string, bigint>();
  for await (const { accountId, kind, amountMicro, createdAtMs } of operator.exportEntries(null)) {
    const key = `${accountId} ${seoulIsoOf(createdAtMs).slice(0, 7)} ${kind}`;
    ofLedger.set(key, (ofLedger.get(key) ?? 0n) + amountMicro);
  }
  const rows = (await Array.fromAsync(monthStatements(database, always, {}, vat))).flat();
  const shown = rows.flatMap((row) =>
    Object.entries({
      topup: row.topups,
      bonus: row.bonuses,
      usage: row.usage,
      expiry: row.expiredPaid + row.expiredBonus,
      refund: row.refunds,
    }).map(([kind, amount]) => [`${row.accountId} ${row.month} ${kind}`, amount] as const),
  );
  assert.ok(ofLedger.size >= 20 && rows.length >= 6, `${ofLedger.size} ${rows.length}`);
  const nonZero = (pairs: Iterable<readonly [string, bigint]>) =>
    new Map([...pairs].filter(([, amount]) => amount !== 0n).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  assert.deepEqual(nonZero(shown), nonZero(ofLedger));

  const sum = (of: (row: (typeof rows)[number]) => bigint): bigint =>
    rows.reduce((all, row) => all + of(row), 0n);
  assert.ok(rows.some(({ refunds }) => refunds > 0n) && rows.some(({ expiredBonus }) => expiredBonus < 0n));
  const left = (await readLiability(database, nowMs)).groups
    .filter(({ kind }) => kind === 'bonus')
    .reduce((all, { amount }) => all + amount, 0n);
  assert.ok(sum((row) => -row.usageOfBonus) > 0n);
  assert.equal(
    sum((row) => row.bonuses + row.usageOfBonus + row.expiredBonus),
    left,
  );

  for (const { usage, usageOfBonus, refunds, taxable } of rows)
    assert.equal(taxable, usageOfBonus - usage - refunds);

  // A month is the same row whatever is asked beside it.
  const november = { fromDay: '2025-11-01', toDay: '2025-12-01' };
  const [first] = payers;
  const alone = (
    await Array.fromAsync(monthStatements(database, november, { onlyAccount: first?.accountId ?? 0 }, vat))
  ).flat();
  assert.deepEqual(
    alone,
    rows.filter((row) => row.month === '2025-11' && row.accountId === first?.accountId),
  );
});

// spec:money/3.10
test('what bonus credit paid is not taxed, also when its usage arrives after it expired', async (t) => {
  const ledger = await openLedger(t);
  const { accountId, keyId, clock, operator, database } = ledger;
  const startMs = Date.parse('2025-11-10T12:00:00+09:00');
  clock.freeze(startMs);
  const grant = (kind: 'topup' | 'bonus', won: bigint, expiresAtMs: number | null) =>
    operator.grantCredit({
      ...{ accountId, kind, amount: krwOfMicro(won * 1_000_000n), expiresAtMs },
      ...{ idempotencyKey: null, memo: null },
    });
  const settle = async (won: bigint, settledAtMs: number) => {
    const row = ledger.generation(won * 1_000_000n, { accountId, keyId, settledAtMs });
    await ledger.settle({ ...row, day: Math.floor((settledAtMs + 9 * 3_600_000) / 86_400_000) });
  };
  await grant('bonus', 1_000n, startMs + 1_000);
  await grant('bonus', 500n, null);
  clock.freeze(startMs + 2_000);
  await expireCredit(database, startMs + 2_000);
  const statement = async () => {
    const [row] = (
      await Array.fromAsync(monthStatements(database, always, { onlyAccount: accountId }, vat))
    ).flat();
    assert.ok(row !== undefined);
    const { usage, usageOfBonus, taxable, supply, vat: tax } = row;
    return [usage, usageOfBonus, taxable, supply, tax].map((micro) => micro / 1_000_000n);
  };
  await settle(300n, startMs);
  assert.deepEqual(await statement(), [-300n, -300n, 0n, 0n, 0n], 'of the credit that had expired');
  await settle(500n, startMs + 2_000);
  await grant('topup', 11_000n, null);
  await settle(1_100n, startMs + 2_000);
  assert.deepEqual(await statement(), [-1_900n, -800n, 1_100n, 1_000n, 100n]);
});

// spec:money/3.10
test('a sum is rounded to whole won once, and its tax is whole won', () => {
  const won = (text: string): bigint => BigInt(text.replace('.', ''));
  for (const [taxable, included, supply, tax] of [
    ['1000.000000', true, '909.000000', '91.000000'],
    ['1100.499999', true, '1000.000000', '100.000000'],
    ['1100.500000', true, '1001.000000', '100.000000'],
    ['1005.000000', false, '1005.000000', '100.000000'],
    ['0.499999', true, '0.000000', '0.000000'],
    ['-1000.000000', true, '-909.000000', '-91.000000'],
  ] as const)
    assert.deepEqual(
      taxOf(won(taxable), { percent: '10', included }),
      { supply: won(supply), vat: won(tax) },
      taxable,
    );
  assert.deepEqual(taxOf(5_000_000n, { percent: '0', included: true }), { supply: 5_000_000n, vat: 0n });
});
