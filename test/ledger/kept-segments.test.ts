/** Settled segments of the journal outlive their settlement for as long as a standby lacks it. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openAccounting } from '../../src/app/accounting.ts';
import { ensurePartitions } from '../../src/generations/partitions.ts';
import { silentLog } from '../../src/log/log.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { Database } from '../../src/store/database.ts';
import { HistoryChanged, HistoryWatch } from '../../src/store/history-watch.ts';
import { migrate } from '../../src/store/migrate.ts';
import { systemClock } from '../../src/time/clock.ts';
import { type GenerationUuid, generationIdOf, newGenerationUuid } from '../../src/wire/ids/generation-id.ts';
import { assertExact, costMicro, createPayer, request, startPair } from '../harness/failover-pair.ts';
import { testConfig } from '../harness/gateway.ts';
import { settlementAt } from '../harness/settlement.ts';
import { eventually } from '../harness/until.ts';

const segmentBytes = 64 * 1024;
const detail = JSON.stringify({ pad: 'x'.repeat(500) });

// spec:money/5.5,5.7
test('settled segments stay until the standby has them; those it lacks in a failover are settled again, once', async (t) => {
  const { primary, standby, address, failOver } = await startPair(t);
  const dataDir = mkdtempSync(join(tmpdir(), 'naru-failover-'));
  await request(primary, async (database) => {
    await migrate(database);
    await ensurePartitions(database, Date.now());
  });
  const { accountId } = await createPayer(primary);
  const config = testConfig({});
  const open = async () => {
    const database = new Database({ connectionString: address.url }, 4);
    let changes = 0;
    const watch = new HistoryWatch(() => {
      changes += 1;
    });
    await watch.look(database);
    database.checkSerial((sql) => watch.look(sql));
    const accounting = await openAccounting({
      config,
      database,
      dataDir,
      clock: systemClock,
      log: silentLog,
      debtFloor: () => krwOfMicro(0n),
      journal: { keepsSettled: true, segmentBytes },
      watch,
    });
    return { database, accounting, changes: () => changes, settled: 0 };
  };
  const settleOne = async ({ accounting }: Opened, uuid: string): Promise<void> => {
    const row = settlementAt(Date.now(), { uuid, accountId, keyId: 1, cost: costMicro, detail });
    const { createdAtMs } = row;
    const opened = accounting.settlements.open({ uuid, accountId, keyId: 1, createdAtMs, detail, app: null });
    await accounting.settlements.settle(opened, row);
  };
  type Opened = Awaited<ReturnType<typeof open>>;
  const settle = async (opened: Opened, count: number): Promise<readonly string[]> => {
    const uuids = Array.from({ length: count }, () => newGenerationUuid(Date.now()));
    // A few at a time: small segments cannot be created as fast as many requests would fill them.
    for (let at = 0; at < count; at += 10)
      await Promise.all(uuids.slice(at, at + 10).map((uuid) => settleOne(opened, uuid)));
    await opened.accounting.settlements.drained();
    opened.settled += count;
    assert.equal(opened.accounting.journal.stats().appended, 2 * opened.settled, 'all are journaled');
    return uuids.map((uuid) => generationIdOf(uuid as GenerationUuid));
  };
  const segments = (): number => readdirSync(join(dataDir, 'journal')).length;
  const first = await open();
  t.after(async () => {
    await first.accounting.close();
    await first.database.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const ids = [...(await settle(first, 200))];
  assert.ok(first.accounting.journal.kept.length > 1);
  await eventually('the standby has them', 30_000, async () => {
    await first.accounting.keptSegments.check();
    return first.accounting.journal.kept.length === 0 ? true : null;
  });
  const idle = segments();
  await standby.pause();
  ids.push(...(await settle(first, 300)));
  const { kept } = first.accounting.journal;
  assert.ok(kept.length >= 5, `${kept.length} are kept`);
  for (let looks = 0; looks < 5; looks += 1) await first.accounting.keptSegments.check();
  assert.deepEqual(first.accounting.journal.kept, kept, 'none is deleted while the standby lacks it');
  assert.ok(segments() >= idle + kept.length);
  assert.ok(first.accounting.journal.stats().keptBytes >= kept.length * segmentBytes);

  await failOver(() => assertExact(standby, ids.slice(0, 200), false));
  await assert.rejects(first.accounting.keptSegments.check(), HistoryChanged);
  await assert.rejects(Promise.resolve(first.accounting.accounts.current(accountId)), HistoryChanged);
  assert.equal(first.changes(), 1);
  assert.deepEqual(first.accounting.journal.kept, kept);
  await first.accounting.close();
  assert.deepEqual(first.accounting.journal.kept.slice(0, kept.length), kept, 'closing deletes none of them');

  const second = await open();
  try {
    await assertExact(standby, ids, false);
    ids.push(...(await settle(second, 50)));
    const account = await second.accounting.accounts.current(accountId);
    assert.equal(account?.balance, 100_000_000_000n - BigInt(ids.length) * costMicro);
    await assertExact(standby, ids, false);
  } finally {
    await second.accounting.close();
    await second.database.close();
  }
  // Everything once more, on the same server: nothing moves.
  const third = await open();
  await third.accounting.close();
  await third.database.close();
  await assertExact(standby, ids, false);
});
