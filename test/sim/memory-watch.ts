import type { Books } from '../../src/app/accounting.ts';
import type { Admission } from '../../src/inference/inference.ts';
import type { Goal } from './journey.ts';

/** Looks on while a gateway forgets, and notes what it then meets again. */
export class MemoryWatch {
  readonly met: (goal: Goal) => void;
  readonly #books: Books;
  readonly #accounts = new Set<number>();
  readonly #keys = new Set<number>();

  constructor(books: Books, met: (goal: Goal) => void) {
    this.#books = books;
    this.met = met;
  }

  /** The gateway forgets what it may. */
  around(forget: () => void): void {
    const { accounts, keys } = this.#books;
    const known = { accounts: [...accounts.all()], keys: [...keys.all()] };
    forget();
    for (const account of known.accounts) {
      if (accounts.peek(account.id) === undefined) this.#accounts.add(account.id);
      else if (account.isNeeded && account.exposure === 0n)
        this.met('an account was not forgotten because a request had it in hand');
      else if (account.isNeeded && account.held === 0n)
        this.met('an account was not forgotten because a charge was not committed');
    }
    for (const { row } of known.keys) if (keys.peekId(row.id) === undefined) this.#keys.add(row.id);
  }

  /** A request is about to be counted. */
  onAdmit({ account, key }: Admission): void {
    if (this.#accounts.delete(account.id)) this.met('an account was forgotten and met again');
    if (this.#keys.delete(key.row.id)) this.met('a key was forgotten and met again');
  }
}
