import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Client } from 'pg';
import { Unbillable } from '../../src/errors/unbillable.ts';
import { Journal } from '../../src/ledger/journal/journal.ts';
import { Settlements } from '../../src/ledger/settlements.ts';
import { silentLog } from '../../src/log/log.ts';
import type { Database } from '../../src/store/database.ts';
import type { Sql } from '../../src/store/sql.ts';
import { type Clock, systemClock } from '../../src/time/clock.ts';
import { type LedgerWorld, openLedger } from '../ledger/world.ts';

/** Twenty times as quick: half a second is as long as a settlement waits for the database. */
const clock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * 20,
  after: (delayMs, task) => systemClock.after(delayMs / 20, task),
};

type Use = (sql: Sql, client: Client) => Promise<unknown>;

/**
 * Settlements that only the database makes durable, whose connection is lost in the first turn and
 * not restored.
 */
async function lostDuring(
  t: TestContext,
  ledger: LedgerWorld,
  firstTurn: (use: Use) => Promise<unknown>,
): Promise<{ readonly settlements: Settlements; readonly back: () => void }> {
  const dir = mkdtempSync(join(tmpdir(), 'naru-unanswered-'));
  const { serial } = ledger.database;
  let isAway = false;
  const run = async (use: Use): Promise<unknown> => {
    if (!isAway) {
      isAway = true;
      await firstTurn(use);
    }
    if (isAway) throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
    return serial.run(use);
  };
  let turn = run;
  const settle = (_accountId: number, use: (client: Client) => Promise<unknown>): Promise<unknown> =>
    turn((_sql, client) => use(client));
  const database = { placement: { partOf: () => 0, settle } } as unknown as Database;
  const journal = await Journal.open({ dir, clock });
  const hooks = {
    spendingNode: () => null,
    onCommitted: () => {},
    onQuarantined: () => assert.fail('refused'),
  };
  const settlements = new Settlements({
    database,
    journal,
    ack: 'database',
    clock,
    log: silentLog,
    ...hooks,
  });
  t.after(async () => {
    await settlements.close();
    rmSync(dir, { recursive: true });
  });
  return {
    settlements,
    back: () => {
      turn = (use) => serial.run(use);
    },
  };
}

/** Resolves when a settlement started now would have been given up long ago. */
async function outOfPatience(): Promise<void> {
  const endMs = clock.monotonic() + 20_000;
  while (clock.monotonic() < endMs) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('a settlement that may be committed is not abandoned: it is settled when the database responds again', async (t) => {
  const ledger = await openLedger(t);
  const { settlements, back } = await lostDuring(t, ledger, (use) => ledger.database.serial.run(use));
  const row = ledger.generation(40n);
  const opened = settlements.open(row);
  const settled = settlements.settle(opened, row);
  await outOfPatience();
  back();
  await settled;
  assert.equal((await ledger.money()).usage, 40n);
  assert.deepEqual(await ledger.differences(), []);
});

test('a settlement whose COMMIT was never sent is abandoned and costs nothing', async (t) => {
  const ledger = await openLedger(t);
  const { settlements, back } = await lostDuring(t, ledger, async () => {});
  const row = ledger.generation(40n);
  await assert.rejects(settlements.settle(settlements.open(row), row), Unbillable);
  back();
  await settlements.drained();
  assert.equal((await ledger.money()).usage, 0n);
  assert.equal((await ledger.operator.verifyLedger()).generations, 1);
});
