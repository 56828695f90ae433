import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AccountCache } from '../src/accounts/account-cache.ts';
import { hashKey, type KeyHash } from '../src/ids/api-key.ts';
import { KeyCache } from '../src/keys/key-cache.ts';
import type { Database } from '../src/store/database.ts';
import { oneShard } from '../src/store/shards.ts';
import type { Sql } from '../src/store/sql.ts';
import { systemClock } from '../src/time/clock.ts';

/** Few enough that no map has just doubled, and more than a processor's caches can store. */
const count = 100_000;

/**
 * A database that has every account and key that is queried, each with its own values, as the
 * driver would read them.
 */
const everything: Sql = {
  query: async (text: string, values: readonly unknown[] = []) => response(text, values) as never,
};

function response(text: string, [first, second]: readonly unknown[]): readonly object[] {
  if (text.includes('FROM account_balance'))
    return (first as readonly number[]).map((id) => ({
      account_id: BigInt(id),
      credits: 10n ** 12n + BigInt(id),
      usage: 10n ** 11n + BigInt(id),
      version: BigInt(id),
    }));
  if (text.includes('FROM key_usage_day')) {
    const spent = 10n ** 9n + BigInt(Number(second));
    return [{ daily: spent, weekly: 7n * spent, monthly: 30n * spent, total: 300n * spent }];
  }
  // A key is found by its hash, and read by its account and id.
  if (text.includes('FROM key_directory')) {
    const n = numbers.get((first as Buffer).toString('base64')) ?? 0;
    return [{ account_id: BigInt(n >> 1), key_id: BigInt(n) }];
  }
  return [keyOf(Buffer.from(hashes[Number(second)] ?? '', 'hex'))];
}

/** The hashes of the keys, by id. */
let hashes: readonly KeyHash[] = [];
const numbers = new Map<string, number>();

function keyOf(hash: Buffer): object {
  const n = numbers.get(hash.toString('base64')) ?? 0;
  return {
    id: BigInt(n),
    hash,
    account_id: BigInt(n >> 1),
    kind: 1,
    name: Buffer.from(`key ${n}`).toString('utf8'),
    label: Buffer.from(`sk-naru-v1-${hash.toString('hex').slice(0, 3)}...${n % 10_000}`).toString('utf8'),
    user_disabled: false,
    admin_suspended: false,
    revoked_at: null,
    expires_at: null,
    limit_micro: null,
    limit_reset: 0,
    created_at: 1.79e12 + n,
    updated_at: null,
  };
}

/** Heap bytes per account and key that a process has served. */
export async function memoryOfKnown(): Promise<{ readonly account: number; readonly key: number }> {
  const database = {
    shards: oneShard,
    readInOrder: <T>(_accountId: number | null, read: (sql: Sql) => Promise<T>) =>
      Promise.resolve(everything).then(read),
  } as unknown as Database;
  const knownSince = (): number => Number.NEGATIVE_INFINITY;
  const parts = { database, clock: systemClock, knownSince, isShared: () => false, capacity: 0 };
  const accountCache = new AccountCache(parts);
  const ring = new KeyCache(parts);
  const account = await heapOfEach((n) => accountCache.current(n));
  hashes = Array.from({ length: count }, (_, n) => hashKey(String(n)));
  for (const [n, hash] of hashes.entries()) numbers.set(Buffer.from(hash, 'hex').toString('base64'), n);
  // The lookup value is a string of the request, and is not retained.
  const key = await heapOfEach((n) => ring.load(`${hashes[n]}` as KeyHash));
  if ([...accountCache.all()].length + [...ring.all()].length < 2 * count)
    throw new Error('something was not met');
  return { account, key };
}

async function heapOfEach(meet: (n: number) => unknown): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < count; n += 1) await meet(n);
  collect();
  return (process.memoryUsage().heapUsed - before) / count;
}
