import type { Act, Actor } from '../identity/audit.ts';
import { recordAct } from '../identity/audit-sql.ts';
import type { Database } from '../store/database.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';

/** Who acts, and where the log is. */
export interface AuditContext {
  readonly database: Database;
  readonly clock: Clock;
  readonly actor: Actor;
}

/**
 * The transactions of one use case, each of which records its act before it commits: an act is in
 * the log exactly when it happened. `before` reads what the act is about to change, and may refuse
 * by throwing. `describe` returns null when nothing was changed.
 */
export function audited<Outcome, Before = undefined>(
  { database, clock, actor }: AuditContext,
  describe: (outcome: Outcome, before: Before, sql: Sql) => Act | null | Promise<Act | null>,
  before?: (sql: Sql) => Promise<Before>,
): Transactions {
  return {
    transaction: (work) =>
      database.transaction(async (sql) => {
        const state = (await before?.(sql)) as Before;
        const outcome = await work(sql);
        // A use case has one transaction, whose outcome is of its type.
        const act = await describe(outcome as unknown as Outcome, state, sql);
        if (act !== null) await recordAct(sql, actor, act, clock.now());
        return outcome;
      }),
  };
}

/** Records an act whose use case has several transactions, or none. */
export async function recordAfter({ database, clock, actor }: AuditContext, act: Act): Promise<void> {
  await database.transaction((sql) => recordAct(sql, actor, act, clock.now()));
}
