import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { AccountCache } from '../../src/accounts/account-cache.ts';
import { KeyCache } from '../../src/accounts/key-cache.ts';
import { SpendLimits } from '../../src/accounts/spend-limits.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import type { Database } from '../../src/store/database.ts';
import type { Sql } from '../../src/store/sql.ts';
import { systemClock } from '../../src/time/clock.ts';

/* docs/decisions/cache-eviction.md; that no decision depends on evictions: `npm run sim`. */

test('a change that arrives during the first read of an account takes effect', async () => {
  let credits = 0n;
  let reads = 0;
  const reading = Promise.withResolvers<void>();
  const sql: Sql = {
    query: async () => {
      const row = { accountId: 1n, credits, usage: 0n, version: credits };
      reads += 1;
      if (reads === 1) await reading.promise;
      return [row] as never;
    },
  };
  let last: Promise<unknown> = Promise.resolve();
  const database = {
    placement: { partOf: () => 0, inTime: (work: Promise<unknown>) => work },
    readInOrder: (_accountId: number | null, read: (sql: Sql) => Promise<unknown>) => {
      last = last.then(() => read(sql));
      return last;
    },
  } as unknown as Database;
  const parts = {
    clock: systemClock,
    isShared: () => false,
    knownSince: () => Number.NEGATIVE_INFINITY,
    capacity: 0,
  };
  const accountCache = new AccountCache({ database, ...parts });
  const first = accountCache.current(1);
  await turn();
  credits = 5n;
  const refreshed = accountCache.refresh(1);
  reading.resolve();
  await Promise.all([first, refreshed]);
  assert.equal(accountCache.getCached(1)?.balance, 5n);
});

test('a lease covers the requests in flight, whichever object of its account counts them', async () => {
  const row = { accountId: 1n, credits: 10n, usage: 0n, version: 1n };
  const sql: Sql = { query: async () => [row] as never };
  const database = {
    placement: { partOf: () => 0 },
    readInOrder: async (_accountId: number | null, read: (sql: Sql) => Promise<unknown>) => read(sql),
  } as unknown as Database;
  const knownSince = () => Number.NEGATIVE_INFINITY;
  const parts = { database, clock: systemClock, isShared: () => false, knownSince, capacity: 0 };
  const accounts = new AccountCache(parts);
  const spendLimits = new SpendLimits({
    accounts,
    keys: new KeyCache(parts),
    clock: systemClock,
    debtFloor: () => krwOfMicro(40n),
  });
  const first = await accounts.current(1);
  const [subject] = [...spendLimits.all()];
  first?.reserve(krwOfMicro(3n));
  assert.equal(subject?.outstanding, krwOfMicro(3n));
  first?.release(krwOfMicro(3n));
  for (let pass = 0; pass < 2; pass += 1) accounts.evictIdle();
  assert.equal(accounts.getCached(1), undefined);
  assert.equal(subject?.outstanding, 0n);
  const second = await accounts.current(1);
  assert.notEqual(second, first);
  second?.reserve(krwOfMicro(5n));
  assert.equal(subject?.outstanding, krwOfMicro(5n));
});
