import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import type { Client } from 'pg';
import { connect } from '../../src/store/connection.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { byTier, testSeed } from '../harness/tier.ts';
import * as real from './model/conduct.ts';
import { tableNames } from './model/tables.ts';
import { importWithModel } from './model/with-model.ts';

// The model of the store is as good as its agreement with PostgreSQL: both get the same operations,
// and must return the same.

const { operations } = real;
const loadModel = (): Promise<typeof real> => importWithModel(new URL('model/conduct.ts', import.meta.url));

let testDatabase: TestDatabase;
let clients: readonly [Client, Client, Client];

before(async () => {
  testDatabase = await createTestDatabase();
  clients = await Promise.all([
    connect(testDatabase.address),
    connect(testDatabase.address),
    connect(testDatabase.address),
  ]);
});
after(async () => {
  for (const client of clients ?? []) await client.end();
  await testDatabase?.drop();
});

/** Initial rows, or most operations would have no effect. */
const preamble = (['account', 'account', 'key', 'key', 'grant', 'register', 'register'] as const).map(
  (name, at) => ({
    ...{ name, a: at, b: at % 2, c: at % 2 },
    fate: 'kept' as const,
  }),
);

/** Bypasses the rule that rows of the ledger stay. */
const empty = `${[
  'ledger',
  'credit_lot',
  'account_balance',
  'key_usage_day',
  'generation',
  'price_version',
  'catalogue_edition',
]
  .map((name) => `ALTER TABLE ${name} DISABLE TRIGGER USER;`)
  .join(' ')} TRUNCATE ${tableNames.join(', ')} RESTART IDENTITY`;

test('the model agrees with PostgreSQL on random sequences of functions of the store, and ends with the same rows', async (t) => {
  const calls = new Map<string, number>();
  const model = await loadModel();
  const sequence = fc.array(
    fc.record({
      name: fc.constantFrom(...Object.keys(operations)),
      a: fc.nat(9),
      b: fc.nat(9),
      c: fc.nat(9),
      fate: fc.constantFrom('kept', 'kept', 'kept', 'rolled back' as const),
    }),
    { minLength: 5, maxLength: 30 },
  );
  await fc.assert(
    fc.asyncProperty(sequence, async (steps) => {
      await clients[0].query(empty);
      const sides = [real.sideOf(clients[0]), model.sideOf()] as const;
      for (const [at, step] of [...preamble, ...steps].entries()) {
        const fromReal = await real.conductOf(sides[0], step);
        const fromModel = await model.conductOf(sides[1], step);
        assert.deepEqual(fromModel, fromReal, `step ${at}: ${step.name}`);
        const name = `${step.name}${fromReal.startsWith('error') ? ` ${fromReal}` : ''}`;
        calls.set(name, (calls.get(name) ?? 0) + 1);
      }
      assert.deepEqual(await sides[1].rows(), await sides[0].rows());
    }),
    { numRuns: byTier(20, 250), seed: testSeed },
  );
  t.diagnostic([...calls].map(([name, count]) => `${name} ${count}`).join(', '));
  for (const name of Object.keys(operations)) assert.ok(calls.has(name), `${name} never returned`);
});

test('the model waits where PostgreSQL waits, reads concurrent commits, and detects deadlocks', async () => {
  await clients[0].query(empty);
  const model = await loadModel();
  const side = model.sideOf();
  for (const [{ operations }, one, two, three] of [
    [real, real.sideOf(clients[0]), real.sideOf(clients[1]), real.sideOf(clients[2])],
    [model, side, side.beside(), side.beside()],
  ] as const) {
    for (const name of ['account', 'account', 'key'] as const)
      await operations[name](one, { a: 0, b: 0, c: 0 });
    await one.sql.query('BEGIN');
    await two.sql.query('BEGIN');
    await operations['lock'](one, { a: 0, b: 0, c: 0 });
    let isHeld = false;
    const waiting = operations['lock'](two, { a: 0, b: 0, c: 0 }).then(() => {
      isHeld = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(isHeld, false, 'a lock is had once');
    await operations['move'](one, { a: 0, b: 5, c: 1 });
    const before = await operations['balances'](three, { a: 0, b: 0, c: 0 });
    await one.sql.query('COMMIT');
    await waiting;
    const behind = await operations['balances'](two, { a: 0, b: 0, c: 0 });
    assert.notDeepEqual(behind, before, 'read committed sees the commit that it waited for');
    // Now crosswise.
    await one.sql.query('BEGIN');
    await operations['lock'](one, { a: 1, b: 0, c: 0 });
    const crossed = [
      operations['lock'](one, { a: 0, b: 0, c: 0 }),
      operations['lock'](two, { a: 1, b: 0, c: 0 }),
    ].map((lock) => lock.catch((error: { readonly code?: string }) => error.code));
    assert.equal(await Promise.race(crossed), '40P01');
    await one.sql.query('ROLLBACK').catch(() => {});
    await two.sql.query('ROLLBACK').catch(() => {});
    await Promise.all(crossed);
    // A number that is given first and committed last.
    const subjects = async (): Promise<readonly number[]> =>
      (await operations.changes(three, { a: 0, b: 0, c: 0 })).changes.map(({ subject }) => subject);
    await one.sql.query('BEGIN');
    await two.sql.query('BEGIN');
    await operations.change(one, { a: 7, b: 0, c: 0 });
    await operations.change(two, { a: 8, b: 0, c: 0 });
    await two.sql.query('COMMIT');
    assert.deepEqual((await subjects()).slice(-1), [8]);
    await one.sql.query('COMMIT');
    assert.deepEqual([await subjects(), await subjects()], [[7], []]);
    await operations['look back'](three);
    assert.deepEqual(
      (await subjects()).slice(-2),
      [7, 8],
      'a node that lost its server reads earlier changes',
    );
  }
});
