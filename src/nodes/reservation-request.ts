import type { Sql } from '../store/sql.ts';
import type { CreditLeaseKind } from './credit-leases-sql.ts';

/**
 * Credit that several nodes spend at once: that of an account, or what is left below a key's limit.
 */
export interface SpendSubject {
  readonly kind: CreditLeaseKind;
  readonly id: number;
  /** The account itself, or that of the key. */
  readonly accountId: number;
  /**
   * What this node may still take of it: charges that are not committed, and the reservations of
   * its requests. Micro-won.
   */
  readonly outstanding: bigint;
  /** The reservations alone: 0 when this node has no request in flight that spends of it. */
  readonly reserved: bigint;
  /** The remainder in memory; this node's outstanding credit is not deducted. */
  readonly left: bigint;
  /**
   * Reads the remainder again, this node's outstanding credit not deducted, and updates memory.
   * Run on the serial connection, under the subject's lock.
   */
  readonly readRemaining: (sql: Sql) => Promise<bigint>;
}

/** A request for a reservation. */
export interface ReservationRequest {
  /** The account first, then the key if it has a limit. */
  readonly subjects: readonly SpendSubject[];
  /** Its estimate, micro-won. */
  readonly amount: bigint;
  /** Whether memory has everything that was spent of the subjects, while no other node spends. */
  readonly isKnown: boolean;
  /** Why settled figures refuse it by now; null when they do not. */
  readonly refusal: () => Error | null;
  /**
   * Counts the amount: from then on it is part of every subject's outstanding credit. Called when
   * the request is admitted.
   */
  readonly count: () => void;
  /** The database did not confirm the admission: the amount is counted no more. */
  readonly uncount: () => void;
}

/** The result of a reservation request. */
export type ReservationResult =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'refused'; readonly error: Error }
  /** The estimates in flight leave no room for it: it waits until enough of them have settled. */
  | {
      readonly kind: 'blocked';
      readonly by: SpendSubject;
      /** Other nodes have leases, which may exceed what they have in flight. */
      readonly isShared: boolean;
    };
