import type { Reservation } from '../../src/accounts/reservation.ts';
import type { Accounting } from '../../src/app/accounting.ts';
import type { Goal } from './journey.ts';

/** Observes evictions of a gateway, and records the entries that it then reads again. */
export class MemoryWatch {
  readonly met: (goal: Goal) => void;
  readonly #accounting: Accounting;
  readonly #accounts = new Set<number>();
  readonly #keys = new Set<number>();

  constructor(accounting: Accounting, met: (goal: Goal) => void) {
    this.#accounting = accounting;
    this.met = met;
  }

  /** The gateway forgets what it may. */
  proc(forget: () => void): void {
    const { accounts, keys } = this.#accounting;
    const known = { accounts: [...accounts.all()], keys: [...keys.all()] };
    forget();
    for (const account of known.accounts) {
      if (accounts.getCached(account.id) === undefined) this.#accounts.add(account.id);
      else if (account.isPinned && account.outstanding === 0n)
        this.met('an account was not evicted because a request used it');
      else if (account.isPinned && account.reserved === 0n)
        this.met('an account was not evicted because a charge was not committed');
    }
    for (const { row } of known.keys) if (keys.getCachedById(row.id) === undefined) this.#keys.add(row.id);
  }

  /** A request is about to be counted. */
  onAdmit({ account, key }: Reservation): void {
    if (this.#accounts.delete(account.id)) this.met('an account was evicted and loaded again');
    if (this.#keys.delete(key.row.id)) this.met('a key was evicted and loaded again');
  }
}
