import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { QueryResultRow } from 'pg';
import { silentLog } from '../../src/log/log.ts';
import { CreditLeases } from '../../src/nodes/credit-leases.ts';
import { NodeRegistry } from '../../src/nodes/node-registry.ts';
import { nodeLostMs } from '../../src/nodes/nodes-sql.ts';
import type { ReservationRequest, SpendSubject } from '../../src/nodes/reservation-request.ts';
import { Database } from '../../src/store/database.ts';
import { type Clock, systemClock } from '../../src/time/clock.ts';
import { createTestDatabase, openTestDatabase } from '../harness/database.ts';

/** A database whose list of nodes may arrive late. */
class SlowDatabase extends Database {
  onList = (): void => {};

  override query<R extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly R[]> {
    if (/FROM gateway_node n LEFT JOIN beat/.test(text)) this.onList();
    return super.query<R>(text, values);
  }
}

async function databaseOf(t: TestContext): Promise<SlowDatabase> {
  const testDatabase = await createTestDatabase();
  const database = new SlowDatabase(testDatabase.address, 4);
  t.after(async () => {
    await database.close();
    await testDatabase.drop();
  });
  return database;
}

/** A request of this amount, as far as the shares are concerned. */
function reservationOf(subject: SpendSubject, amount: bigint, count: () => void): ReservationRequest {
  const reservation = { subjects: [subject], amount, isKnown: true, refusal: () => null, count };
  return {
    ...reservation,
    uncount: () => assert.fail('the database was there'),
  };
}

/** A node whose clock can be moved separately. */
async function nodeOf(database: Database) {
  let passedMs = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
  const parts = { database, clock, log: silentLog, home: randomUUID(), address: 'here' };
  const nodes = await NodeRegistry.join(parts);
  return {
    nodes,
    clock,
    pass(ms: number): void {
      passedMs += ms;
    },
  };
}

/** The credit of an account of which so much is left, as one node spends it. */
function purseOf(left: bigint): { readonly subject: SpendSubject; readonly take: (amount: bigint) => void } {
  let outstanding = 0n;
  return {
    subject: {
      kind: 'account',
      id: 1,
      accountId: 1,
      get outstanding() {
        return outstanding;
      },
      get reserved() {
        return outstanding;
      },
      left,
      readRemaining: async () => left,
    },
    take: (amount) => {
      outstanding += amount;
    },
  };
}

test('a paused node spends none of its leases before it has read the database: others may have them', async (t) => {
  const database = await openTestDatabase(t, { poolSize: 2 });
  let isCurrent = true;
  let left = 1_000n;
  let outstanding = 0n;
  const nodes = {
    id: 1,
    isAlone: false,
    count: 2,
    untilSeen: null,
    isSeen: true,
    beat: async () => {},
  };
  const shares = new CreditLeases({ database, clock: systemClock, nodes, isCurrent: () => isCurrent });
  const subject: SpendSubject = {
    kind: 'account',
    id: 1,
    accountId: 1,
    get outstanding() {
      return outstanding;
    },
    get reserved() {
      return outstanding;
    },
    get left() {
      return left;
    },
    readRemaining: async () => left,
  };
  const reserve = async (): Promise<string> => {
    const count = (): void => {
      outstanding += 10n;
    };
    const reservation = reservationOf(subject, 10n, count);
    return (shares.reserveNow(reservation) ?? (await shares.reserve(reservation))).kind;
  };
  assert.equal(await reserve(), 'admitted');
  left = 0n;
  assert.equal(await reserve(), 'admitted', 'of its share, without a question');
  isCurrent = false;
  assert.equal(await reserve(), 'blocked');
});

/** Longer than the node timeout. */
const tooLongMs = nodeLostMs + 1_000;

test('a node that was declared lost in the middle of a poll joins again', async (t) => {
  const database = await databaseOf(t);
  const { nodes, pass } = await nodeOf(database);
  const { id } = nodes;
  database.onList = () => {
    database.onList = () => {};
    pass(tooLongMs);
  };
  await nodes.beat();
  assert.notEqual(nodes.id, id);
});

test('a lease that is being granted while this node publishes its leases is not spent', async (t) => {
  const database = await databaseOf(t);
  const nodes = {
    id: 1,
    isAlone: false,
    count: 2,
    untilSeen: null,
    isSeen: true,
    beat: async () => {},
  };
  const shares = new CreditLeases({ database, clock: systemClock, nodes, isCurrent: () => true });
  const { subject, take } = purseOf(100n);
  const reserve = (amount: bigint) => shares.reserve(reservationOf(subject, amount, () => take(amount)));
  // A free model: no request in flight counts in the published leases.
  const request = reserve(0n);
  await new Promise(setImmediate);
  const published = shares.publish(() => [subject]);
  await request;
  await published;
  for (const name of ['one', 'two'])
    await database.query('INSERT INTO gateway_node (home, address) VALUES ($1, $2)', [randomUUID(), name]);
  await database.query(
    'INSERT INTO spend_share (account_id, kind, subject, node_id, amount) VALUES (1, 1, 1, 2, 101)',
  );
  assert.equal((await reserve(10n)).kind, 'blocked', 'another node has all of it');
});
