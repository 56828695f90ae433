import { type BalanceRow, findBalance } from '../store/accounts.ts';
import type { Database } from '../store/database.ts';
import { Account } from './account.ts';

/** The accounts this process has met. Answered from memory, kept true by settlements and change events. */
export class AccountBook {
  readonly #database: Database;
  readonly #accounts = new Map<number, Account>();
  readonly #loading = new Map<number, Promise<Account | null>>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** The account if it is known already. */
  peek(accountId: number): Account | undefined {
    return this.#accounts.get(accountId);
  }

  /** The account, read from the database when it is not known; null when there is none. */
  load(accountId: number): Promise<Account | null> {
    const known = this.#accounts.get(accountId);
    if (known !== undefined) return Promise.resolve(known);
    const running = this.#loading.get(accountId);
    if (running !== undefined) return running;
    const loading = this.#read(accountId).finally(() => this.#loading.delete(accountId));
    this.#loading.set(accountId, loading);
    return loading;
  }

  /** Reads a known account again, after another process changed it. */
  async refresh(accountId: number): Promise<void> {
    if (this.#accounts.has(accountId)) await this.#read(accountId);
  }

  /** Takes over committed balances; the charges they contain must be given back by the caller in the same turn. */
  update(balances: readonly BalanceRow[]): void {
    for (const row of balances) this.#accounts.get(row.accountId)?.update(row);
  }

  /** On the ordered line: the row contains exactly the local settlements that were committed before this turn. */
  async #read(accountId: number): Promise<Account | null> {
    return this.#database.readInOrder(async (sql) => {
      const row = await findBalance(sql, accountId);
      if (row === null) return null;
      const known = this.#accounts.get(accountId);
      if (known !== undefined) {
        known.update(row);
        return known;
      }
      const account = new Account(row);
      this.#accounts.set(accountId, account);
      return account;
    });
  }
}
