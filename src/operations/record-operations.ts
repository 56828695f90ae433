import { keepHours } from '../generations/analytics/rolling-sql.ts';
import { exportedGeneration } from '../generations/generation.ts';
import { findAnyGeneration } from '../generations/generations-sql.ts';
import type { EntryRow } from '../ledger/ledger-sql.ts';
import { type PruneOptions, type PruneOutcome, pruneGenerations } from '../ledger/retention.ts';
import { type Verdict, verifyLedger } from '../ledger/verification.ts';
import type { Anchor } from '../ledger/verification-sql.ts';
import type { GenerationUuid } from '../wire/ids/generation-id.ts';
import { recordAfter } from './audited.ts';
import { exportEntries, exportGenerations } from './exports.ts';
import { verificationAct } from './ledger-verification.ts';
import type { OperationsContext } from './operations-context.ts';

/** Reads, exports and prunes generations; exports and verifies the ledger. */
export function recordOperations(context: OperationsContext) {
  const { database, clock } = context;
  return {
    exportEntries: (onlyAccount: number | null): AsyncIterable<EntryRow> =>
      exportEntries(database, onlyAccount),

    /**
     * `anchors`: the state of the ledger chains at the time of a backup. The result is in the audit
     * log, where the metrics read it, unless the database is still empty: `naru restore` must find
     * it so.
     */
    verifyLedger: async (anchors?: ReadonlyMap<number, Anchor>): Promise<Verdict> => {
      const startedAtMs = clock.now();
      const verdict = await verifyLedger(database, anchors);
      if (verdict.accounts > 0)
        await recordAfter(context, verificationAct(verdict, clock.now() - startedAtMs));
      return verdict;
    },

    /** One record with its account, in the export format; null when it does not exist. */
    readGeneration: async (uuid: GenerationUuid): Promise<object | null> => {
      const row = await findAnyGeneration(database, uuid);
      return row === null ? null : exportedGeneration(row);
    },

    exportGenerations: (onlyAccount: number | null): AsyncIterable<object> =>
      exported(exportGenerations(database, onlyAccount)),

    pruneGenerations: async (options: PruneOptions): Promise<PruneOutcome> => {
      const outcome = await pruneGenerations(database, options, { nowMs: clock.now(), keep: keepHours });
      await recordAfter(context, { act: 'generations.prune', after: outcome });
      return outcome;
    },
  };
}

async function* exported(rows: ReturnType<typeof exportGenerations>): AsyncGenerator<object> {
  for await (const row of rows) yield exportedGeneration(row);
}
