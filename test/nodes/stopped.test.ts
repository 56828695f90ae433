import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Spender, SpendShares } from '../../src/nodes/spend-shares.ts';
import { Database } from '../../src/store/database.ts';
import { systemClock } from '../../src/time/clock.ts';
import { createTestDatabase } from '../harness/database.ts';

test('a node that was stopped spends nothing of its shares before it has looked at the database: others may have them', async (t) => {
  const home = await createTestDatabase();
  const database = new Database(home.address, 2);
  t.after(async () => {
    await database.close();
    await home.drop();
  });
  let isCurrent = true;
  let left = 1_000n;
  let exposure = 0n;
  const nodes = { id: 1, isAlone: false, count: 2, acquaintance: null };
  const shares = new SpendShares({ database, clock: systemClock, nodes, isCurrent: () => isCurrent });
  const spender: Spender = {
    kind: 'account',
    id: 1,
    get exposure() {
      return exposure;
    },
    readLeft: async () => left,
    admits: (free) => free >= 0n,
  };
  const cover = async (): Promise<string> => {
    const place = (): void => {
      exposure += 10n;
    };
    return (await shares.cover({ spenders: [spender], amount: 10n, place })).kind;
  };
  assert.equal(await cover(), 'placed');
  left = 0n;
  assert.equal(await cover(), 'placed', 'of its share, without a question');
  isCurrent = false;
  assert.equal(await cover(), 'exhausted');
});
