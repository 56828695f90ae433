import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxSafeInteger, property } from 'fast-check';
import { findInAnyAccount } from '../../src/generations/any-account-sql.ts';
import { findAnyGeneration } from '../../src/generations/generations-sql.ts';
import { accountOfRequest } from '../../src/generations/search-all-sql.ts';
import { findCost } from '../../src/ledger/lots-sql.ts';
import { shardsFrom } from '../../src/store/placement/shards.ts';
import { leadOfAccount } from '../../src/wire/ids/account-hash.ts';
import {
  generationIdOf,
  leadOf,
  newGenerationUuid,
  parseGenerationId,
  withLead,
} from '../../src/wire/ids/generation-id.ts';
import { check } from '../harness/property.ts';
import { openLedger } from '../ledger/world.ts';

test('an identity leads to its account in both spellings, and accounts with one lead are in one shard', () => {
  const shards = shardsFrom(Array.from({ length: 128 }, (_, n) => -(2 ** 31) + n * 2 ** 25));
  const shardOfLead = new Map<number, number>();
  check(
    property(maxSafeInteger(), (accountId) => {
      const plain = newGenerationUuid(1_795_219_200_123);
      const uuid = withLead(plain, accountId);
      assert.equal(leadOf(uuid), leadOfAccount(accountId));
      assert.equal(parseGenerationId(generationIdOf(uuid)), uuid);
      assert.equal(uuid.slice(0, 13) + uuid.slice(16), plain.slice(0, 13) + plain.slice(16));
      const shard = shards.of(accountId);
      assert.equal(shardOfLead.get(leadOf(uuid)) ?? shard, shard);
      shardOfLead.set(leadOf(uuid), shard);
    }),
    { numRuns: 5_000 },
  );
});

test('a record is found without its account, among the few that its identity leads to', async (t) => {
  const { database, accountId, operator, generation, settle, clock } = await openLedger(t);
  const others = 40;
  for (let n = 0; n < others; n += 1) {
    const other = await operator.createAccount({ name: `other ${n}`, email: null });
    await operator.createKey({
      accountId: other,
      kind: 'inference',
      name: 'key',
      limit: null,
      limitReset: 'never',
      expiresAtMs: null,
    });
  }
  const led = withLead(newGenerationUuid(clock.now()), accountId);
  await settle(generation(7n, { uuid: led }));

  const looks: Buffer[] = [];
  await findInAnyAccount(database, led, async (accounts) => {
    looks.push(accounts);
    return accounts;
  });
  assert.ok(
    (looks[0]?.length ?? Number.POSITIVE_INFINITY) < 20 + 12 * (others / 4),
    'few accounts have one lead',
  );

  assert.equal((await findAnyGeneration(database, led))?.accountId, accountId);
  assert.deepEqual(await findCost(database, led), { accountId, cost: 7n });
  assert.equal(await accountOfRequest(database, led), accountId);
  const unknown = withLead(newGenerationUuid(clock.now()), accountId);
  assert.equal(await findAnyGeneration(database, unknown), null);
  assert.equal(await findCost(database, unknown), null);
  assert.equal(await accountOfRequest(database, unknown), null);
});
