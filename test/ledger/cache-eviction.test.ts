import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { AccountCache } from '../../src/accounts/account-cache.ts';
import { BearerHashes } from '../../src/accounts/authenticate.ts';
import { KeyCache } from '../../src/accounts/key-cache.ts';
import { KeyService } from '../../src/accounts/key-service.ts';
import { Reservation } from '../../src/accounts/reservation.ts';
import { SpendLimits } from '../../src/accounts/spend-limits.ts';
import { dispatch } from '../../src/api/dispatch.ts';
import { route } from '../../src/api/route.ts';
import { openAccounting } from '../../src/app/accounting.ts';
import { Refusal } from '../../src/errors/catalogue.ts';
import { ensurePartitions } from '../../src/generations/partitions.ts';
import { Exchange } from '../../src/http/exchange.ts';
import { RouteTable } from '../../src/http/route-table.ts';
import { Session } from '../../src/inference/session.ts';
import { silentLog } from '../../src/log/log.ts';
import { LinkedList } from '../../src/memory/linked-list.ts';
import { Registry } from '../../src/metrics/registry.ts';
import { RequestMetrics } from '../../src/metrics/request-metrics.ts';
import { type Krw, krwOfMicro, krwToDecimal } from '../../src/money/krw.ts';
import type { ReservationOrder } from '../../src/nodes/reservation-queue.ts';
import { createOperatorService } from '../../src/operations/operator-service.ts';
import { Database } from '../../src/store/database.ts';
import type { Sql } from '../../src/store/sql.ts';
import { systemClock } from '../../src/time/clock.ts';
import { type LimitReset, limitResets } from '../../src/time/period.ts';
import { noUsage } from '../../src/wire/usage.ts';
import { createTestDatabase } from '../harness/database.ts';
import { testConfig } from '../harness/gateway.ts';
import { TestClock } from '../harness/test-clock.ts';
import { byTier } from '../harness/tier.ts';

/* docs/decisions/cache-eviction.md: memory is bounded, and no decision depends on evictions. */

const keyPrefix = 'sk-naru-';
const accountsOfWorld = 3;
const floor = won(40);
/** A Saturday: the next days begin a week and a month. */
const beginning = '2026-11-28T12:00:00+09:00';

function won(amount: number): Krw {
  return krwOfMicro(BigInt(amount) * 1_000_000n);
}

/** Small, fast and the same on every machine. */
function rng(seed: number): (sides: number) => number {
  let state = seed >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

/** A request would have to wait in line. */
class Waits extends Error {}

interface WorldKey {
  readonly accountId: number;
  readonly plaintext: string;
  readonly hash: Parameters<KeyService['read']>[1];
}

const observer = new RequestMetrics(new Registry());

/** A ledger with a few accounts and keys, and requests that begin and end on request. */
class World {
  readonly keys: WorldKey[] = [];
  readonly decisions: string[] = [];
  /** How often an evicted entry was read. */
  metAgain = 0;
  readonly #parts: Awaited<ReturnType<typeof partsOf>>;
  readonly #open: Session[] = [];
  readonly #everMet = new Set<number>();

  private constructor(parts: Awaited<ReturnType<typeof partsOf>>) {
    this.#parts = parts;
  }

  static async open(t: TestContext, capacity: number): Promise<World> {
    const world = new World(await partsOf(t, capacity));
    const { operator } = world.#parts;
    for (let a = 0; a < accountsOfWorld; a += 1) {
      const accountId = await operator.createAccount({ name: `account ${a}`, email: null });
      await world.topUp(accountId, 150);
      for (const limit of [null, won(150)])
        await world.addKey(accountId, limit, limitResets[a + 1] ?? 'daily');
    }
    return world;
  }

  async addKey(accountId: number, limit: Krw | null, limitReset: LimitReset): Promise<void> {
    const order = {
      accountId,
      kind: 'inference',
      name: 'key',
      limit,
      limitReset,
      expiresAtMs: null,
    } as const;
    const { plaintext, row } = await this.#parts.keyService.create(order);
    this.keys.push({ accountId, plaintext, hash: row.hash });
  }

  /** Begins a request of a key: returns its result. */
  async call(key: WorldKey, amount: number): Promise<void> {
    const { accounting, clock, isForgetful } = this.#parts;
    const callRoute = route({
      method: 'POST',
      path: '/call',
      credential: 'inference',
      handle: async ({ caller, exchange }) => {
        const { settlements } = accounting;
        const account = accounting.accounts.getCached(caller.accountId);
        assert.ok(account !== undefined);
        const { key } = caller;
        const { spendLimits, leases } = accounting;
        // A queue in which nothing waits: the test calls the leases itself.
        const queues = {
          enter: async (order: ReservationOrder) => assert.equal(order, session.reservation),
          wake: () => {},
        };
        const openReservation = () => new Reservation(account, key, { spendLimits, queues, leases });
        const openSessions = new LinkedList<Session>();
        const parts = { settlements, clock, observer, tracer: null, openReservation, openSessions };
        const session = new Session(parts, { account, key, exchange, endpoint: 'chat' });
        try {
          spendLimits.assertFunded(account, key);
          // The body arrives.
          for (let n = 0; n < 5; n += 1) await turn();
          spendLimits.assertFunded(account, key);
          const { reservation } = session;
          await reservation.reserve(won(amount), { signal: exchange.signal, maxWaitMs: 1_000 });
          const wanted = {
            subjects: reservation.subjects,
            amount: reservation.amount,
            isKnown: reservation.isKnown,
            refusal: () => reservation.refusal(),
            count: () => reservation.count(),
            uncount: () => reservation.uncount(),
          };
          const covered = leases.reserveNow(wanted) ?? (await leases.reserve(wanted));
          if (covered.kind === 'refused') throw covered.error;
          // Here a request that would wait in the queue leaves instead.
          if (covered.kind === 'blocked') throw new Waits(covered.by.kind);
        } catch (error) {
          await session.fail(error);
          throw error;
        }
        this.#open.push(session);
        return { body: {} };
      },
    });
    if (
      isForgetful &&
      this.#everMet.has(key.accountId) &&
      accounting.accounts.getCached(key.accountId) === undefined
    )
      this.metAgain += 1;
    const request = {
      method: 'POST',
      url: '/call',
      headers: { authorization: `Bearer ${key.plaintext}` },
      socket: {},
    };
    const exchange = new Exchange(request as unknown as IncomingMessage, { clientIp: '', startedMs: 0 });
    const parts = {
      table: new RouteTable([callRoute]),
      hashes: new BearerHashes(keyPrefix),
      clock,
      fresh: () => accounting.feed.fresh(),
      waits: accounting.waits,
    };
    try {
      await dispatch({ ...parts, keys: accounting.keys, accounts: accounting.accounts }, exchange);
      this.#everMet.add(key.accountId);
      this.decisions.push('placed');
    } catch (error) {
      if (error instanceof Waits) return void this.decisions.push(`waits for ${error.message}`);
      if (!(error instanceof Refusal)) throw error;
      this.decisions.push(`${error.failure} ${JSON.stringify(error.extras)}`);
    }
  }

  /** A request ends, and costs so much; null: it fails. */
  async response(at: number, cost: number | null): Promise<void> {
    const [session] = this.#open.splice(at % Math.max(1, this.#open.length), 1);
    if (session === undefined) return;
    if (cost === null) return session.fail(new Error('failed'));
    await session.end({
      status: 200,
      errorType: null,
      candidate: null,
      totals: null,
      usage: noUsage,
      usageSource: undefined,
      cost: won(cost),
      cancelled: false,
    });
  }

  async settle(): Promise<void> {
    await this.#parts.accounting.settlements.drained();
  }

  /** Done by another process: the cache here is notified. */
  async topUp(accountId: number, amount: number): Promise<void> {
    const order = {
      kind: 'topup',
      amount: won(amount),
      expiresAtMs: null,
      idempotencyKey: null,
      memo: null,
    } as const;
    await this.#parts.operator.grantCredit({ accountId, ...order });
    await this.#parts.accounting.accounts.refresh(accountId);
  }

  async limit({ accountId, hash }: WorldKey, limit: number | null): Promise<void> {
    await this.#parts.keyService.change(accountId, hash, { limitMicro: limit === null ? null : won(limit) });
  }

  async revoke({ accountId, hash }: WorldKey): Promise<void> {
    await this.#parts.keyService.revoke(accountId, hash);
  }

  async midnight(): Promise<void> {
    const { clock, database } = this.#parts;
    clock.freeze(clock.now() + 86_400_000);
    await ensurePartitions(database, clock.now());
  }

  /** What an account and its keys read about their money. */
  async look(accountId: number): Promise<void> {
    const { accounting, keyService } = this.#parts;
    const account = await accounting.accounts.current(accountId);
    assert.ok(account !== null);
    this.decisions.push(`${krwToDecimal(account.totalCredits)} ${krwToDecimal(account.totalUsage)}`);
    for (const { row, spend } of await keyService.page(accountId, { offset: 0 }, true))
      this.decisions.push(`${row.id} ${spend.daily} ${spend.weekly} ${spend.monthly} ${spend.total}`);
  }

  async end(): Promise<void> {
    for (let n = 0; this.#open.length > 0; n += 1) await this.response(0, n % 7);
    await this.settle();
    for (const { outstanding } of [
      ...this.#parts.accounting.accounts.all(),
      ...this.#parts.accounting.keys.all(),
    ])
      assert.equal(outstanding, 0n);
  }
}

async function partsOf(t: TestContext, capacity: number) {
  const { address, drop } = await createTestDatabase();
  const database = new Database(address, 4);
  const dataDir = mkdtempSync(join(tmpdir(), 'naru-forget-'));
  const clock = new TestClock();
  clock.freeze(beginning);
  await ensurePartitions(database, clock.now());
  const config = testConfig({});
  const accounting = await openAccounting({
    config,
    database,
    dataDir,
    clock,
    log: silentLog,
    debtFloor: () => floor,
    cacheCapacity: capacity,
  });
  const isForgetful = capacity === 0;
  let isOver = false;
  const sweep = (): void => {
    accounting.evictIdle();
    if (!isOver) setImmediate(sweep);
  };
  // Between any two events, so that everything evictable is evicted during a wait.
  if (isForgetful) sweep();
  t.after(async () => {
    isOver = true;
    await accounting.close();
    await database.close();
    await drop();
    rmSync(dataDir, { recursive: true });
  });
  return {
    accounting,
    clock,
    database,
    isForgetful,
    keyService: new KeyService({ database, cache: accounting.keys, clock, keyPrefix, maxPerAccount: 1_000 }),
    operator: createOperatorService(database, { clock, keyPrefix, close: async () => {} }),
  };
}

/** What happens in a world of this seed, the same in each. */
async function live(world: World, seed: number): Promise<void> {
  const roll = rng(seed);
  for (let n = 0; n < byTier(400, 1_000); n += 1) {
    const key = world.keys[roll(world.keys.length)] as WorldKey;
    const kind = roll(20);
    const size = 1 + roll(60);
    if (kind < 7) await world.call(key, size);
    else if (kind < 13) await world.response(roll(1_000), roll(6) === 0 ? null : roll(size));
    else if (kind < 15) await world.settle();
    else if (kind < 17) await world.look(key.accountId);
    else if (kind === 17) await world.topUp(key.accountId, size);
    else if (kind === 18) await world.midnight();
    else if (roll(3) > 0) await world.limit(key, roll(4) === 0 ? null : 3 * size);
    else {
      await world.revoke(key);
      await world.addKey(key.accountId, won(200), limitResets[roll(4)] ?? 'never');
    }
  }
  await world.end();
  for (let accountId = 1; accountId <= accountsOfWorld; accountId += 1) await world.look(accountId);
}

test('caches that evict at any time decide and report the same as caches that never evict', async (t) => {
  const mindful = await World.open(t, Number.POSITIVE_INFINITY);
  const forgetful = await World.open(t, 0);
  await Promise.all([live(mindful, 1), live(forgetful, 1)]);
  assert.deepEqual(forgetful.decisions, mindful.decisions);
  assert.ok(forgetful.metAgain > 50, `${forgetful.metAgain} accounts were met again`);
  const kinds = new Set(mindful.decisions.map((decision) => decision.split(' ')[0]));
  for (const kind of ['placed', 'waits', 'insufficient_credits', 'key_limit_exceeded', 'invalid_api_key'])
    assert.ok(kinds.has(kind), kind);
});

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
    debtFloor: () => floor,
  });
  const first = await accounts.current(1);
  const [subject] = [...spendLimits.all()];
  first?.reserve(won(3));
  assert.equal(subject?.outstanding, won(3));
  first?.release(won(3));
  for (let pass = 0; pass < 2; pass += 1) accounts.evictIdle();
  assert.equal(accounts.getCached(1), undefined);
  assert.equal(subject?.outstanding, 0n);
  const second = await accounts.current(1);
  assert.notEqual(second, first);
  second?.reserve(won(5));
  assert.equal(subject?.outstanding, won(5));
});
