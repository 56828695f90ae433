import { type BalanceRow, findBalances } from '../store/accounts.ts';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import { Account } from './account.ts';

/** What others spend of an account is known after this long at the latest. */
const currentForMs = 500;

/** What an account book is made of. */
export interface AccountBookParts {
  readonly database: Database;
  readonly clock: Clock;
  /** Whether other processes spend the same accounts; then memory alone is not to be believed for long. */
  readonly isShared: () => boolean;
  /** While not shared: what was asked for earlier than this monotonic instant may be what others had not spent yet. */
  readonly knownSince: () => number;
}

/** The accounts this process has met. Answered from memory, kept true by settlements, change events and, beside other nodes, by looking again. */
export class AccountBook {
  readonly #parts: AccountBookParts;
  readonly #accounts = new Map<number, Known>();
  /** The accounts of the read that has not begun yet: all who ask meanwhile share it. */
  #next: { readonly ids: Set<number>; readonly done: Promise<void> } | null = null;

  constructor(parts: AccountBookParts) {
    this.#parts = parts;
  }

  /** The account if it is known already. */
  peek(accountId: number): Account | undefined {
    return this.#accounts.get(accountId)?.account;
  }

  /** Every account that is known. */
  *all(): Iterable<Account> {
    for (const { account } of this.#accounts.values()) yield account;
  }

  /** The account as it is now, from memory where that can be believed; null when there is none. Rejects when the database is away. */
  current(accountId: number): Account | Promise<Account | null> {
    const known = this.#accounts.get(accountId);
    if (known !== undefined && this.#isCurrent(known)) return known.account;
    return this.#read(accountId).then(() => this.peek(accountId) ?? null);
  }

  /** Whether memory has everything that was spent of the account, while nobody else spends. */
  isKnown(accountId: number): boolean {
    const known = this.#accounts.get(accountId);
    return known !== undefined && known.askedMs >= this.#parts.knownSince();
  }

  /** Reads a known account again, after another process changed it. */
  async refresh(accountId: number): Promise<void> {
    if (this.#accounts.has(accountId)) await this.#read(accountId);
  }

  /** Reads an account in a turn of the ordered line that the caller has. Throws when there is none. */
  async readIn(sql: Sql, accountId: number): Promise<Account> {
    const askedMs = this.#parts.clock.monotonic();
    this.update(await findBalances(sql, [accountId]), askedMs);
    const account = this.peek(accountId);
    if (account === undefined) throw new Error(`there is no account ${accountId}`);
    return account;
  }

  /**
   * Takes over committed balances, asked for at this monotonic instant; the charges they contain must be given back by the caller in
   * the same turn.
   */
  update(balances: readonly BalanceRow[], askedMs: number): void {
    for (const row of balances) {
      const known = this.#accounts.get(row.accountId);
      if (known === undefined) continue;
      known.account.update(row);
      known.askedMs = askedMs;
    }
  }

  #isCurrent({ askedMs }: Known): boolean {
    const { clock, isShared, knownSince } = this.#parts;
    return isShared() ? clock.monotonic() - askedMs <= currentForMs : askedMs >= knownSince();
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
      const askedMs = this.#parts.clock.monotonic();
      const rows = await findBalances(sql, [...ids]);
      this.update(rows, askedMs);
      for (const row of rows) {
        if (!this.#accounts.has(row.accountId))
          this.#accounts.set(row.accountId, { account: new Account(row), askedMs });
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
}

/** An account and when what is known of it was asked for. */
interface Known {
  readonly account: Account;
  askedMs: number;
}
