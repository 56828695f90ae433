import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Accounting, openAccounting } from '../../src/app/accounting.ts';
import { silentLog } from '../../src/log/log.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { nodeLostMs } from '../../src/nodes/nodes-sql.ts';
import { Database } from '../../src/store/database.ts';
import { type Clock, systemClock } from '../../src/time/clock.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { testConfig } from '../harness/gateway.ts';
import { operatorOn } from '../harness/payer.ts';
import { settlementAt } from '../harness/settlement.ts';
import { until } from '../harness/until.ts';

/** Longer than the node timeout. */
const tooLongMs = nodeLostMs + 1_000;

/**
 * The ledger of a node that sends no heartbeat by itself, and whose clock can be moved separately.
 */
async function nodeOf(t: TestContext, testDatabase: TestDatabase) {
  let passedMs = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
  const database = new Database(testDatabase.address, 4);
  const dataDir = mkdtempSync(join(tmpdir(), 'naru-lost-'));
  const accounting = await openAccounting({
    config: testConfig({}),
    database,
    dataDir,
    clock,
    log: silentLog,
    debtFloor: () => krwOfMicro(0n),
  });
  t.after(async () => {
    await accounting.close();
    await database.close();
    rmSync(dataDir, { recursive: true });
  });
  /** It was stopped, without a heartbeat. */
  const isSilent = async (): Promise<void> => {
    await database.query(
      "UPDATE gateway_node SET seen_at = seen_at - $2 * interval '1 millisecond' WHERE id = $1",
      [accounting.nodes.id, tooLongMs],
    );
    passedMs += tooLongMs;
  };
  return { accounting, database, isSilent };
}

async function settle({ settlements }: Accounting, accountId: number, keyId: number): Promise<void> {
  const row = settlementAt(Date.now(), { accountId, keyId, cost: 200_000_000n });
  const { uuid, createdAtMs, detail, app } = row;
  await settlements.settle(settlements.open({ uuid, accountId, keyId, createdAtMs, detail, app }), row);
  await settlements.drained();
}

test('settlements of a node that was declared lost are known to the only other node, even if the first dies at once', async (t) => {
  const home = await createTestDatabase();
  t.after(() => home.drop());
  const one = await nodeOf(t, home);
  const operator = operatorOn(one.database);
  const accountId = await operator.createAccount({ name: 'one', email: null });
  const { hash } = await operator.createKey({
    ...{ accountId, kind: 'inference', name: 'one', limit: null, limitReset: 'never', expiresAtMs: null },
  });
  const { id: keyId } = (await operator.readKey(hash)) ?? assert.fail('no key');
  const two = await nodeOf(t, home);
  // A change that it read late would have it query the database while it is meant to be silent.
  await two.accounting.feed.close();
  await two.accounting.nodes.beat();
  await one.accounting.nodes.beat();
  assert.equal(one.accounting.nodes.isAlone, false);
  await two.isSilent();
  await one.accounting.nodes.beat();
  assert.equal(one.accounting.nodes.isAlone, true);
  await one.accounting.keys.load(hash);
  assert.equal(one.accounting.keys.isKnown(keyId), true);
  await settle(two.accounting, accountId, keyId);
  await until('one is in the company of two again', () => !one.accounting.nodes.isAlone);
  await two.accounting.nodes.untilSeen;
  await two.isSilent();
  await one.accounting.nodes.beat();
  assert.equal(one.accounting.nodes.isAlone, true);
  await one.accounting.keys.catchUp(accountId, [keyId]);
  assert.equal(one.accounting.keys.getCachedById(keyId)?.spendOn(Date.now()).total, 200_000_000n);
});
