import { ClockCache, type ClockCacheParts } from '../store/clock-cache.ts';
import type { Sql } from '../store/sql.ts';
import { Account } from './account.ts';
import { type BalanceRow, findBalances } from './accounts-sql.ts';

/** What others spend of an account is known after this long at most. */
const currentForMs = 500;

interface AccountRead {
  readonly ids: Set<number>;
  readonly done: Promise<void>;
}

/**
 * The accounts that this process has read and not evicted. Served from memory, kept current by
 * settlements, change events and, beside other nodes, by reading again. An evicted account is read
 * again at its next use.
 */
export class AccountCache {
  readonly #parts: ClockCacheParts;
  readonly #accounts = new Map<number, Account>();
  readonly #cache: ClockCache<Account>;
  /**
   * The accounts of the read of each part that has not begun yet: all callers meanwhile share it. A
   * server that is away fails the reads of its own accounts only.
   */
  readonly #next = new Map<number, AccountRead>();
  /** The accounts of the reads that are under way. */
  readonly #reading = new Set<number>();

  constructor(parts: ClockCacheParts) {
    this.#parts = parts;
    this.#cache = new ClockCache(parts.capacity, ({ id }) => this.#accounts.delete(id));
  }

  /** The account if it is cached. */
  getCached(accountId: number): Account | undefined {
    return this.#accounts.get(accountId);
  }

  /** Every cached account. */
  all(): Iterable<Account> {
    return this.#cache;
  }

  /** How many accounts are cached. */
  get size(): number {
    return this.#cache.size;
  }

  /**
   * Evicts some of the accounts that were not used lately, when more are cached than the capacity.
   */
  evictIdle(): void {
    this.#cache.evictIdle();
  }

  /**
   * The current account, from memory where that is current; null when there is none. Rejects when
   * the database is away.
   */
  current(accountId: number): Account | Promise<Account | null> {
    const known = this.#accounts.get(accountId);
    if (known !== undefined) known.isUsed = true;
    if (known !== undefined && this.#isCurrent(known)) return known;
    return this.#read(accountId).then(() => this.getCached(accountId) ?? null);
  }

  /** Whether memory has everything that was spent of the account, while no other node spends. */
  isKnown(accountId: number): boolean {
    const known = this.#accounts.get(accountId);
    return known !== undefined && known.readAtMs >= this.#parts.knownSince() && !known.isDoubtful;
  }

  /**
   * Reads a cached account again, after another process changed it; one that must not delay others
   * is read before its next use.
   */
  async refresh(accountId: number): Promise<void> {
    // A first read that is under way may have the state of before the change.
    if (!this.#accounts.has(accountId) && !this.#reading.has(accountId)) return;
    await this.#parts.database.placement.inTime(this.#read(accountId), () => {
      const account = this.#accounts.get(accountId);
      if (account !== undefined) account.isDoubtful = true;
    });
  }

  /** Reads an account in the caller's turn of the serial connection. Throws when there is none. */
  async readIn(sql: Sql, accountId: number): Promise<Account> {
    const readAtMs = this.#parts.clock.monotonic();
    this.update(await findBalances(sql, [accountId]), readAtMs);
    const account = this.getCached(accountId);
    if (account === undefined) throw new Error(`there is no account ${accountId}`);
    return account;
  }

  /**
   * Updates committed balances, read at this monotonic instant. The caller must remove the charges
   * that they contain in the same turn.
   */
  update(balances: readonly BalanceRow[], readAtMs: number): void {
    for (const row of balances) {
      const known = this.#accounts.get(row.accountId);
      if (known === undefined) continue;
      known.update(row);
      known.readAtMs = readAtMs;
      known.isDoubtful = false;
    }
  }

  #isCurrent({ readAtMs, isDoubtful }: Account): boolean {
    if (isDoubtful) return false;
    const { clock, isShared, knownSince } = this.#parts;
    return isShared() ? clock.monotonic() - readAtMs <= currentForMs : readAtMs >= knownSince();
  }

  #read(accountId: number): Promise<void> {
    const part = this.#parts.database.placement.partOf(accountId);
    const next = this.#next.get(part) ?? this.#begin(part, accountId);
    next.ids.add(accountId);
    return next.done;
  }

  /**
   * Runs on the connection of the part: the rows contain exactly the local settlements that were
   * committed before this turn.
   */
  #begin(part: number, accountId: number): AccountRead {
    const ids = new Set<number>();
    const done = this.#parts.database.readInOrder(accountId, async (sql) => {
      this.#next.delete(part);
      for (const id of ids) this.#reading.add(id);
      try {
        const readAtMs = this.#parts.clock.monotonic();
        const rows = await findBalances(sql, [...ids]);
        this.update(rows, readAtMs);
        for (const row of rows)
          if (!this.#accounts.has(row.accountId)) this.#addLoaded(new Account(row, readAtMs));
      } finally {
        for (const id of ids) this.#reading.delete(id);
      }
    });
    const next = { ids, done };
    this.#next.set(part, next);
    // A read that failed before it began must not be shared any more.
    void done
      .catch(() => {})
      .finally(() => {
        if (this.#next.get(part) === next) this.#next.delete(part);
      });
    return next;
  }

  #addLoaded(account: Account): void {
    this.#accounts.set(account.id, account);
    this.#cache.add(account);
  }
}
