import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Journal } from '../../src/ledger/journal/journal.ts';
import { type SettlementRow, Settlements } from '../../src/ledger/settlements.ts';
import { silentLog } from '../../src/log/log.ts';
import { Database } from '../../src/store/database.ts';
import { systemClock } from '../../src/time/clock.ts';
import { newGenerationUuid } from '../../src/wire/ids/generation-id.ts';
import { createTestDatabase } from '../harness/database.ts';
import { operatorOn } from '../harness/payer.ts';
import { insertPrice } from '../harness/price.ts';
import { settlementAt } from '../harness/settlement.ts';

const segmentBytes = 32 * 1024;
const rounds = 12;
const clock = systemClock;

test('requests of an hour do not fill the journal, and are recorded after a crash', async (t) => {
  const testDatabase = await createTestDatabase();
  const database = new Database(testDatabase.address);
  const dir = mkdtempSync(join(tmpdir(), 'naru-long-'));
  t.after(async () => {
    await database.close();
    await testDatabase.drop();
    rmSync(dir, { recursive: true });
  });
  const operator = operatorOn(database, clock);
  const accountId = await operator.createAccount({ name: 'patient', email: null });
  const key = await operator.createKey({
    accountId,
    kind: 'inference',
    name: 'k',
    limit: null,
    limitReset: 'never',
    expiresAtMs: null,
  });
  const keyId = (await operator.readKey(key.hash))?.id ?? assert.fail('no key');
  const start = async (): Promise<{ journal: Journal; settlements: Settlements }> => {
    const journal = await Journal.open({ dir, clock, segmentBytes, maxBytes: 64 * segmentBytes });
    const hooks = {
      spendingNode: () => null,
      onCommitted: () => {},
      onQuarantined: () => assert.fail('nothing is poisoned'),
    };
    return {
      journal,
      settlements: new Settlements({ database, journal, ack: 'journal', clock, log: silentLog, ...hooks }),
    };
  };
  const record = () => {
    const createdAtMs = clock.now();
    const detail = JSON.stringify({
      request_id: 'r',
      api_type: 'completions',
      endpoint: 'chat',
      title: 't'.repeat(200),
    });
    const uuid = newGenerationUuid(createdAtMs);
    return { uuid, accountId, keyId, createdAtMs, detail, app: null };
  };

  const priceVersion = await insertPrice(database, { request: 7_000_000n * 1_000_000n });
  const { journal, settlements } = await start();
  const inFlight: ReturnType<typeof settlements.open>[] = [];
  let [most, renewed] = [0, 0];
  for (let round = 0; round < rounds; round += 1) {
    inFlight.push(settlements.open(record()));
    for (let n = 0; n < 60; n += 1) {
      const short = settlements.open(record());
      await settlements.settle(short, rowOf(short.record, 0n));
    }
    await settlements.drained();
    const renewing = settlements.renew(3 * segmentBytes);
    // The oldest ends while it is being rewritten.
    const [oldest] = inFlight;
    if (round === rounds - 1 && oldest !== undefined)
      await settlements.settle(oldest, rowOf(oldest.record, 7_000_000n, priceVersion));
    renewed += await renewing;
    most = Math.max(most, journal.stats().segments);
  }
  assert.ok(renewed >= rounds, `renewed ${renewed} times`);
  assert.ok(most <= 8, `${most} segments were kept`);
  await settlements.drained();
  assert.equal(journal.stats().liveRecords, rounds - 1, 'the long requests are live, once each');
  await settlements.close();

  const next = await start();
  const recovered = await next.settlements.recover();
  assert.ok(recovered.orphans >= rounds - 1);
  assert.equal(next.journal.stats().liveRecords, 0);
  await next.settlements.close();
  const records = (await Array.fromAsync(operator.exportGenerations(accountId))) as readonly {
    status: number;
    cost_krw: string;
  }[];
  assert.equal(records.length, 61 * rounds);
  assert.deepEqual(
    records.filter((row) => row.status === 500).map((row) => row.cost_krw),
    Array(rounds - 1).fill('0.000000'),
  );
  assert.deepEqual(
    records.filter((row) => row.cost_krw !== '0.000000').map((row) => row.cost_krw),
    ['7.000000'],
  );
  assert.deepEqual((await operator.verifyLedger()).differences, []);
});

function rowOf(
  record: Parameters<Settlements['open']>[0],
  cost: bigint,
  priceVersion: number | null = null,
): SettlementRow {
  const tokens = { promptTokens: 1, completionTokens: 1 };
  return settlementAt(clock.now(), { ...record, ...tokens, cost, priceVersion });
}
