import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Database } from '../../src/store/database.ts';
import { readDurability } from '../../src/store/durability.ts';
import { type GenerationUuid, generationIdOf } from '../../src/wire/ids/generation-id.ts';
import { type MovableAddress, openMovableAddress } from './movable-address.ts';
import { type OwnPostgres, ownBinDir, type Standby, startOwnPostgres } from './own-postgres.ts';
import { createOnePayer, operatorOn } from './payer.ts';
import { eventually } from './until.ts';

/** 10 prompt tokens at 1 won, 5 completion tokens at 2. */
export const costMicro = 20_000_000n;

/** A primary server, and a standby that replicates from it asynchronously. */
export interface Pair {
  readonly primary: OwnPostgres;
  readonly standby: Standby;
  /** The address of the database, whichever server it is. */
  readonly address: MovableAddress;
  /**
   * Loses the primary and everything that the standby does not have, and moves the address to the
   * standby.
   */
  failOver(meanwhile?: () => Promise<void>): Promise<void>;
}

/** Starts both; they are stopped after the test. */
export async function startPair(t: TestContext): Promise<Pair> {
  const folder = mkdtempSync(join(tmpdir(), 'naru-failover-'));
  const primary = await startOwnPostgres(await ownBinDir(folder));
  t.after(async () => {
    await primary.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const standby = await primary.addStandby();
  const address = await openMovableAddress(primary.address);
  t.after(() => address.close());
  const watched = new Database(primary.address, 1);
  await eventually('the standby streams', 30_000, async () =>
    (await readDurability(watched)).standbys > 0 ? true : null,
  );
  await watched.close();
  return {
    primary,
    standby,
    address,
    async failOver(meanwhile = async () => {}) {
      address.moveTo(null);
      await primary.lose();
      await standby.promote();
      await meanwhile();
      address.moveTo(standby.address);
    },
  };
}

/** Opens a server for the duration of a query. */
export async function request<T>(
  at: OwnPostgres | Standby,
  use: (database: Database) => Promise<T>,
): Promise<T> {
  const database = new Database(at.address, 2);
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}

const operatorOf = (database: Database) => operatorOn(database);

/** Makes an account with 100,000 won of credit, and its first key. */
export function createPayer(at: OwnPostgres): Promise<{ readonly accountId: number; readonly key: string }> {
  return request(at, async (database) => {
    return createOnePayer(operatorOf(database), '100000');
  });
}

/** The generations that the ledger charges, in no order; every amount is checked. */
async function charged(database: Database): Promise<readonly string[]> {
  const entries = await Array.fromAsync(operatorOf(database).exportEntries(null));
  return entries.flatMap(({ kind, amountMicro, generationUuid }) => {
    if (kind !== 'usage') return [];
    assert.equal(amountMicro, -costMicro);
    return [generationIdOf(generationUuid as GenerationUuid)];
  });
}

/**
 * These generations are charged, each once, no other is, and the ledger verifies; without
 * `hasPrices`, prices that a test did not publish are not missed.
 */
export async function assertExact(
  at: OwnPostgres | Standby,
  ids: readonly string[],
  hasPrices = true,
): Promise<void> {
  await request(at, async (database) => {
    assert.deepEqual((await charged(database)).toSorted(), ids.toSorted());
    const { differences } = await operatorOf(database).verifyLedger();
    const isPrice = ({ check }: { readonly check: string }): boolean => /names the price/.test(check);
    assert.deepEqual(
      differences.filter((one) => hasPrices || !isPrice(one)),
      [],
    );
  });
}

/** Resolves once a server has so many charges. */
export async function settledOn(at: OwnPostgres | Standby, count: number): Promise<void> {
  await request(at, (database) =>
    eventually(`${count} charges`, 60_000, async () =>
      (await charged(database)).length >= count ? true : null,
    ),
  );
}
