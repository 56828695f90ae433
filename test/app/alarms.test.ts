import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QueryResultRow } from 'pg';
import { AlarmWatch } from '../../src/operations/alarms.ts';
import { readCreation } from '../../src/store/database-identity.ts';
import type { Sql } from '../../src/store/sql.ts';
import { openLedger } from '../ledger/world.ts';

test('what one of two reads at once found stays when the other one ends later', async (t) => {
  const { database, operator, grant } = await openLedger(t);
  await grant(5n);
  const released = Promise.withResolvers<void>();
  let isSlow = false;
  const sql: Sql = {
    async query<R extends QueryResultRow>(text: string, values?: readonly unknown[]) {
      const isDelayed = isSlow;
      isSlow = false;
      const rows = await database.query<R>(text, values);
      if (isDelayed) await released.promise;
      return rows;
    },
  };
  const alarms = await AlarmWatch.open(sql);
  const createdAtMs = await readCreation(database);
  assert.equal(alarms.current.lastVerificationAtMs, createdAtMs);
  isSlow = true;
  const slow = alarms.refresh();
  await operator.verifyLedger();
  await alarms.refreshUpkeep();
  const { lastVerificationAtMs } = alarms.current;
  assert.ok(lastVerificationAtMs > createdAtMs);
  released.resolve();
  await slow;
  assert.equal(alarms.current.lastVerificationAtMs, lastVerificationAtMs);
});
