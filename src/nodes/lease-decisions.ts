/** Pure decisions: which subject blocks a reservation, and how much credit a node leases. */
import type { ReservationRequest, SpendSubject } from './reservation-request.ts';

/** The remainder of a subject beside the leases of other nodes, as the database has it. */
export interface Remaining {
  readonly subject: SpendSubject;
  /** The leases of the other nodes are deducted. */
  readonly left: bigint;
  readonly others: bigint;
}

/**
 * More than a node spends in a moment, and small enough that the leases of a thousand nodes add up
 * to a bigint of the database.
 */
const maxLease = 1_000_000_000_000_000n;

/**
 * The subject that leaves no room for a request beside the estimates in flight. The key comes
 * first: a request that waits for its key must not delay the account's other keys.
 */
export function blockerOf(
  { amount }: ReservationRequest,
  remainders: readonly Remaining[],
): Remaining | undefined {
  return remainders.findLast(({ subject, left, others }) => {
    const fits = left - subject.outstanding >= amount;
    const isIdle = subject.reserved === 0n && others === 0n;
    return !fits && !isIdle;
  });
}

/**
 * The same while no other node spends of any subject: then only room counts, and no list is made of
 * what is left.
 */
export function blockerAlone({ amount, subjects }: ReservationRequest): SpendSubject | undefined {
  return subjects.findLast(
    (subject) => subject.left - subject.outstanding < amount && subject.reserved !== 0n,
  );
}

/**
 * The lease of a node among `nodeCount`: its outstanding credit, and a part of what is free beside
 * it; none of that while another node waits.
 */
export function leaseOf(
  { subject: { outstanding }, left }: Remaining,
  nodeCount: number,
  isWanted: boolean,
): bigint {
  const free = isWanted ? 0n : left - outstanding;
  const more = free > 0n ? free / (2n * BigInt(nodeCount)) : 0n;
  return outstanding + (more < maxLease ? more : maxLease);
}
