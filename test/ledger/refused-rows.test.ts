/**
 * Settlements that the database refuses with a code that waiting does not cure and that does not
 * say that the row is at fault: the row is set aside once others are taken, and delays nobody.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type SettlementOutcome, Settler } from '../../src/ledger/settler.ts';
import { silentLog } from '../../src/log/log.ts';
import type { Clock } from '../../src/time/clock.ts';
import { until } from '../harness/until.ts';
import { type LedgerWorld, openLedger } from './world.ts';

const poison = [
  `CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF new.provider = 'poison' THEN RAISE EXCEPTION 'the shard refuses it' USING ERRCODE = 'XX000'; END IF;
  RETURN new;
END $$`,
  'CREATE TRIGGER poison BEFORE INSERT ON generation FOR EACH ROW EXECUTE FUNCTION refuse_poison()',
];

interface World {
  readonly ledger: LedgerWorld;
  readonly settler: Settler;
  /** How each settlement ended, by its number. */
  readonly outcomes: Map<number, SettlementOutcome>;
  /** Why settlements were set aside. */
  readonly reasons: string[];
  push(from: number, count: number, isPoisoned: (n: number) => boolean): void;
}

async function openWorld(t: TestContext, clockOf = (clock: Clock): Clock => clock): Promise<World> {
  const ledger = await openLedger(t);
  await ledger.grant(1_000_000n);
  for (const command of poison) await ledger.database.query(command);
  const reasons: string[] = [];
  const outcomes = new Map<number, SettlementOutcome>();
  const settler = new Settler({
    database: ledger.database,
    clock: clockOf(ledger.clock),
    log: silentLog,
    spendingNode: () => null,
    onCommitted: () => {},
    onQuarantined: (_row, reason) => reasons.push(reason),
  });
  t.after(() => settler.stop());
  const push = (from: number, count: number, isPoisoned: (n: number) => boolean): void => {
    for (let n = from; n < from + count; n += 1)
      settler.push(ledger.generation(10n, isPoisoned(n) ? { provider: 'poison' } : {}), {
        ended: (outcome) => outcomes.set(n, outcome),
      });
  };
  return { ledger, settler, outcomes, reasons, push };
}

const numbersOf = ({ outcomes }: World, wanted: SettlementOutcome): readonly number[] =>
  [...outcomes].filter(([, outcome]) => outcome === wanted).map(([n]) => n);

test('rows that are refused without a reason of their own are set aside, wherever they are in a batch', async (t) => {
  const world = await openWorld(t);
  const poisoned = [0, 1, 2, 3, 17, 39];
  world.push(0, 40, (n) => poisoned.includes(n));
  await world.settler.drained();
  assert.deepEqual(
    numbersOf(world, 'quarantined').toSorted((a, b) => a - b),
    poisoned,
  );
  assert.equal(numbersOf(world, 'committed').length, 34);
  for (const reason of world.reasons) assert.match(reason, /the shard refuses it/);
  assert.equal((await world.ledger.money()).usage, 340n);
  assert.deepEqual(await world.ledger.differences(), []);
});

test('what an earlier process left is not charged to a key that was made later; what it had settled stays', async (t) => {
  const { ledger, settler, outcomes, reasons } = await openWorld(t);
  const { accountId, keyId } = await ledger.addPayer('later');
  const before = { accountId, keyId, createdAtMs: ledger.clock.now() - 3_600_000 };
  const [known, wrong, right] = [ledger.generation(3n, before), ledger.generation(4n, before)].concat(
    ledger.generation(5n, { accountId, keyId }),
  );
  assert.ok(known !== undefined && wrong !== undefined && right !== undefined);
  await ledger.settle(known);
  for (const [n, row] of [known, wrong, right].entries())
    settler.push(row, { ended: (outcome) => outcomes.set(n, outcome) }, true);
  await settler.drained();
  assert.deepEqual([...outcomes].toSorted(), [
    [0, 'committed'],
    [1, 'quarantined'],
    [2, 'committed'],
  ]);
  assert.match(String(reasons), /key \d+ was created at \S+, after the request/);
  assert.deepEqual(await ledger.differences(), []);
});

test('while the database refuses every row, none is set aside; all are settled once it takes them', async (t) => {
  const world = await openWorld(t);
  world.push(0, 20, () => true);
  await until('several attempts failed', () => world.settler.isFailing);
  assert.equal(world.outcomes.size, 0);
  await world.ledger.database.query('DROP TRIGGER poison ON generation');
  await world.settler.drained();
  assert.equal(numbersOf(world, 'committed').length, 20);
  assert.equal((await world.ledger.money()).usage, 200n);
});

test('a refused row that is alone waits for another one to show that the database takes rows', async (t) => {
  const world = await openWorld(t);
  world.push(0, 1, () => true);
  await until('it failed', () => world.settler.isFailing);
  assert.equal(world.outcomes.size, 0);
  world.push(1, 1, () => false);
  await world.settler.caughtUp();
  assert.deepEqual([...world.outcomes].toSorted(), [
    [0, 'quarantined'],
    [1, 'committed'],
  ]);
});

test('a refused row is set aside after a minute of attempts if no other row comes', async (t) => {
  const waits: number[] = [];
  const world = await openWorld(t, (clock) => ({
    ...{ now: () => clock.now(), monotonic: () => clock.monotonic() },
    after(delayMs, run) {
      waits.push(delayMs);
      return clock.after(0, run);
    },
  }));
  world.push(0, 1, () => true);
  await world.settler.drained();
  assert.deepEqual([...world.outcomes], [[0, 'quarantined']]);
  const waited = waits.reduce((sum, each) => sum + each, 0);
  assert.ok(waited > 45_000 && waited < 75_000, `${waited} ms`);
});
