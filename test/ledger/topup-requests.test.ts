/** Requests for top-ups: one ledger entry for a confirmed one, none for any other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  confirmTopup,
  maxPendingTopups,
  readTopups,
  rejectTopup,
  requestTopup,
  type TopupOutcome,
  withdrawTopup,
} from '../../src/ledger/topup-requests.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { type LedgerWorld, openLedger } from './world.ts';

const won = 1_000_000n;

function order({ accountId }: LedgerWorld, amount = 10_000n * won) {
  return { accountId, amount: krwOfMicro(amount), depositor: 'Kim', note: null };
}

async function requested(world: LedgerWorld, amount?: bigint): Promise<number> {
  const outcome = await requestTopup(world.database, order(world, amount), world.clock.now());
  assert.equal(outcome.kind, 'done');
  return 'request' in outcome ? outcome.request.id : 0;
}

const kinds = (outcomes: readonly TopupOutcome[]): readonly string[] =>
  outcomes.map(({ kind }) => kind).toSorted();

test('a request moves no money; confirmed ten times at once it makes one entry', async (t) => {
  const world = await openLedger(t);
  const id = await requested(world);
  assert.deepEqual(await world.entries(), []);
  const by = { name: 'operator', atMs: world.clock.now() };
  const outcomes = await Promise.all(
    Array.from({ length: 10 }, () => confirmTopup(world.database, { id, bankReference: 'T-1' }, by)),
  );
  assert.deepEqual(kinds(outcomes), ['done', ...Array<string>(9).fill('repeated')]);
  assert.deepEqual(
    (await world.entries()).map(({ kind, amount }) => [kind, amount]),
    [['topup', 10_000n * won]],
  );
  assert.deepEqual(await world.differences(), []);
});

test('a decision is final: confirmed is not rejected, rejected is not confirmed, withdrawn neither', async (t) => {
  const world = await openLedger(t);
  const by = { name: 'operator', atMs: world.clock.now() };
  const { accountId } = world;
  const acts = {
    confirm: (id: number) => confirmTopup(world.database, { id, bankReference: null }, by),
    reject: (id: number) => rejectTopup(world.database, { id, reason: 'no transfer arrived' }, by),
    withdraw: (id: number) => withdrawTopup(world.database, { id, accountId }, by),
  };
  for (const first of Object.values(acts)) {
    const id = await requested(world);
    assert.equal((await first(id)).kind, 'done');
    for (const next of Object.values(acts))
      assert.equal((await next(id)).kind, next === first ? 'repeated' : 'decided');
  }
  assert.equal((await world.entries()).length, 1);
});

test('a confirmation with another bank reference than the first is refused', async (t) => {
  const world = await openLedger(t);
  const id = await requested(world);
  const by = { name: 'operator', atMs: world.clock.now() };
  for (const [bankReference, kind] of [
    ['T-1', 'done'],
    ['T-1', 'repeated'],
    [null, 'repeated'],
    ['T-2', 'decided'],
  ] as const)
    assert.equal((await confirmTopup(world.database, { id, bankReference }, by)).kind, kind);
});

test('of a confirmation and a rejection at once, one is the decision', async (t) => {
  const world = await openLedger(t);
  const by = { name: 'operator', atMs: world.clock.now() };
  for (let round = 0; round < 10; round += 1) {
    const id = await requested(world);
    const outcomes = await Promise.all([
      confirmTopup(world.database, { id, bankReference: null }, by),
      rejectTopup(world.database, { id, reason: 'x' }, by),
    ]);
    assert.deepEqual(kinds(outcomes), ['decided', 'done']);
  }
  const confirmed = await readTopups(world.database, {
    accountId: world.accountId,
    state: 'confirmed',
    beforeId: null,
    limit: 100,
  });
  assert.equal((await world.entries()).length, confirmed.length);
});

test('one transfer pays one request, also when two are confirmed at once', async (t) => {
  const world = await openLedger(t);
  const by = { name: 'operator', atMs: world.clock.now() };
  const ids = [await requested(world), await requested(world)];
  const outcomes = await Promise.all(
    ids.map((id) => confirmTopup(world.database, { id, bankReference: 'T-2' }, by)),
  );
  assert.deepEqual(kinds(outcomes), ['done', 'reference_used']);
  assert.equal((await world.entries()).length, 1);
});

test('an account has a bounded number of open requests, and cannot withdraw those of another', async (t) => {
  const world = await openLedger(t);
  const outcomes = await Promise.all(
    Array.from({ length: maxPendingTopups + 5 }, () =>
      requestTopup(world.database, order(world), world.clock.now()),
    ),
  );
  assert.equal(outcomes.filter(({ kind }) => kind === 'done').length, maxPendingTopups);
  assert.equal(outcomes.filter(({ kind }) => kind === 'too_many').length, 5);
  const [first] = outcomes;
  const id = first !== undefined && 'request' in first ? first.request.id : 0;
  const by = { name: 'owner', atMs: world.clock.now() };
  assert.equal(
    (await withdrawTopup(world.database, { id, accountId: world.accountId + 1 }, by)).kind,
    'not_found',
  );
});
