import { CreditLeases } from '../src/nodes/credit-leases.ts';
import type { QueuedReservation, SpendSubject } from '../src/nodes/reservation-request.ts';
import type { DatabaseAddress } from '../src/store/connection.ts';
import { Database } from '../src/store/database.ts';
import { systemClock } from '../src/time/clock.ts';

/** What spending one account from several nodes cost in questions to the database. */
export interface SharesSpent {
  readonly requests: number;
  readonly questions: number;
  /** Questions while more than a tenth of the credit was left. */
  readonly far: number;
  readonly overspent: bigint;
}

/**
 * Spends an account of `credit` micro-won by requests of `cost` that arrive at one of `count` nodes
 * at random, one after another, until nothing is admitted. The leases are the real ones, on a real
 * database; settling is immediate.
 */
export async function spendTogether(
  address: DatabaseAddress,
  count: number,
  credit: bigint,
  cost: bigint,
): Promise<SharesSpent> {
  const database = new Database(address, 2);
  const account = 1;
  let left = credit;
  let [requests, questions, far] = [0, 0, 0];
  try {
    await database.transaction((sql) => sql.query('DELETE FROM spend_share'));
    const nodes = await Promise.all(
      Array.from({ length: count }, async () => {
        const id = await database.transaction(async (sql) => {
          const [row] = await sql.query<{ id: bigint }>(
            "INSERT INTO gateway_node (home, address, seen_at) VALUES (gen_random_uuid(), 'bench', now() + interval '1 hour') RETURNING id",
          );
          return Number(row?.id);
        });
        const held = { outstanding: 0n };
        const alive = { isSeen: true, beat: async () => {} };
        const registry = { id, isAlone: false, count, untilSeen: null, ...alive };
        const shares = new CreditLeases({
          database,
          clock: systemClock,
          nodes: registry,
          isCurrent: () => true,
        });
        const subject: SpendSubject = {
          kind: 'account',
          id: account,
          accountId: account,
          get outstanding() {
            return held.outstanding;
          },
          get reserved() {
            return held.outstanding;
          },
          get left() {
            return left;
          },
          readRemaining: async () => left,
        };
        return { id, shares, subject: subject, held };
      }),
    );
    for (;;) {
      const node = nodes[Math.floor(Math.random() * count)];
      if (node === undefined) break;
      const { shares, subject, held } = node;
      if (left < cost) break;
      const reservation: QueuedReservation = {
        subjects: [subject],
        amount: cost,
        isKnown: true,
        refusal: () => null,
        count: () => {
          held.outstanding += cost;
        },
        uncount: () => {
          held.outstanding -= cost;
        },
        arrivedMs: performance.now(),
        hasLeft: true,
        waitsFor: null,
        next: () => null,
      };
      let outcome = shares.reserveNow(reservation);
      if (outcome === null) {
        questions += 1;
        if (left * 10n > credit) far += 1;
        outcome = await shares.reserve(reservation);
      }
      if (outcome.kind === 'blocked' && outcome.isShared) {
        for (const other of nodes) if (other !== node) await other.shares.releaseExcess([other.subject]);
        questions += count;
        outcome = await shares.reserve(reservation);
      }
      await shares.departed(reservation);
      if (outcome.kind !== 'admitted') break;
      requests += 1;
      held.outstanding -= cost;
      left -= cost;
      await database.transaction((sql) =>
        sql.query(
          'UPDATE spend_share SET amount = greatest(0, amount - $1) WHERE kind = 1 AND subject = $2 AND node_id = $3',
          [cost, account, node.id],
        ),
      );
      shares.spent('account', account, cost);
    }
    return { requests, questions, far, overspent: left < 0n ? -left : 0n };
  } finally {
    await database.transaction(async (sql) => {
      await sql.query('DELETE FROM spend_share');
      await sql.query("DELETE FROM gateway_node WHERE address = 'bench'");
    });
    await database.close();
  }
}
