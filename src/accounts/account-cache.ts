import { ClockCache, type ClockCacheParts } from '../store/clock-cache.ts';
import type { Sql } from '../store/sql.ts';
import { Account } from './account.ts';
import { type BalanceRow, findBalances } from './accounts-sql.ts';

/** What others spend of an account is known after this long at the latest. */
const currentForMs = 500;

const missing: ReadonlySet<number> = new Set();

/**
 * The accounts this process has met and not forgotten. Answered from memory, kept true by settlements, change events and, beside other
 * nodes, by looking again. An account that is forgotten is read again at its next use, as one that was never met.
 */
export class AccountCache {
  readonly #parts: ClockCacheParts;
  readonly #accounts = new Map<number, Account>();
  readonly #cache: ClockCache<Account>;
  /** The accounts of the read that has not begun yet: all who ask meanwhile share it. */
  #next: { readonly ids: Set<number>; readonly done: Promise<void> } | null = null;
  /** The accounts of the read that is under way. */
  #inHand = missing;

  constructor(parts: ClockCacheParts) {
    this.#parts = parts;
    this.#cache = new ClockCache(parts.capacity, ({ id }) => this.#accounts.delete(id));
  }

  /** The account if it is known already. */
  getCached(accountId: number): Account | undefined {
    return this.#accounts.get(accountId);
  }

  /** Every account that is known. */
  all(): Iterable<Account> {
    return this.#cache;
  }

  /** How many accounts are known. */
  get size(): number {
    return this.#cache.size;
  }

  /** Forgets some of the accounts that were not used lately, where more are known than are kept. */
  forgetIdle(): void {
    this.#cache.forgetIdle();
  }

  /** The account as it is now, from memory where that can be believed; null when there is none. Rejects when the database is away. */
  current(accountId: number): Account | Promise<Account | null> {
    const known = this.#accounts.get(accountId);
    if (known !== undefined) known.isUsed = true;
    if (known !== undefined && this.#isCurrent(known)) return known;
    return this.#read(accountId).then(() => this.getCached(accountId) ?? null);
  }

  /** Whether memory has everything that was spent of the account, while nobody else spends. */
  isKnown(accountId: number): boolean {
    const known = this.#accounts.get(accountId);
    return known !== undefined && known.readAtMs >= this.#parts.knownSince();
  }

  /** Reads a known account again, after another process changed it. */
  async refresh(accountId: number): Promise<void> {
    // What is being read for the first time may be as it was before the change.
    if (this.#accounts.has(accountId) || this.#inHand.has(accountId)) await this.#read(accountId);
  }

  /** Reads an account in a turn of the ordered line that the caller has. Throws when there is none. */
  async readIn(sql: Sql, accountId: number): Promise<Account> {
    const readAtMs = this.#parts.clock.monotonic();
    this.update(await findBalances(sql, [accountId]), readAtMs);
    const account = this.getCached(accountId);
    if (account === undefined) throw new Error(`there is no account ${accountId}`);
    return account;
  }

  /**
   * Takes over committed balances, asked for at this monotonic instant; the charges they contain must be given back by the caller in
   * the same turn.
   */
  update(balances: readonly BalanceRow[], readAtMs: number): void {
    for (const row of balances) {
      const known = this.#accounts.get(row.accountId);
      if (known === undefined) continue;
      known.update(row);
      known.readAtMs = readAtMs;
    }
  }

  #isCurrent({ readAtMs }: Account): boolean {
    const { clock, isShared, knownSince } = this.#parts;
    return isShared() ? clock.monotonic() - readAtMs <= currentForMs : readAtMs >= knownSince();
  }

  #read(accountId: number): Promise<void> {
    const next = this.#next ?? this.#begin();
    next.ids.add(accountId);
    return next.done;
  }

  /** On the ordered line: the rows contain exactly the local settlements that were committed before this turn. */
  #begin(): { readonly ids: Set<number>; readonly done: Promise<void> } {
    const ids = new Set<number>();
    const done = this.#parts.database.readInOrder(async (sql) => {
      this.#next = null;
      this.#inHand = ids;
      try {
        const readAtMs = this.#parts.clock.monotonic();
        const rows = await findBalances(sql, [...ids]);
        this.update(rows, readAtMs);
        for (const row of rows)
          if (!this.#accounts.has(row.accountId)) this.#addLoaded(new Account(row, readAtMs));
      } finally {
        this.#inHand = missing;
      }
    });
    const next = { ids, done };
    this.#next = next;
    // A read that failed before it began must not be handed out any more.
    void done
      .catch(() => {})
      .finally(() => {
        if (this.#next === next) this.#next = null;
      });
    return next;
  }

  #addLoaded(account: Account): void {
    this.#accounts.set(account.id, account);
    this.#cache.add(account);
  }
}
