import { readPrices } from '../catalogue/prices-sql.ts';
import { keepHours } from '../generations/analytics/rolling-sql.ts';
import { exportedGeneration } from '../generations/generation.ts';
import { findAnyGeneration, findRefusal } from '../generations/generations-sql.ts';
import { accountOfRequest } from '../generations/search-all-sql.ts';
import { type EntryRow, refundedOf } from '../ledger/ledger-sql.ts';
import { type PruneOptions, type PruneOutcome, pruneGenerations } from '../ledger/retention.ts';
import { type Verdict, verifyLedger } from '../ledger/verification.ts';
import type { Anchor } from '../ledger/verification-sql.ts';
import { krwOfMicro, krwToDecimal } from '../money/krw.ts';
import type { Database } from '../store/database.ts';
import type { GenerationRow } from '../store/generation-row.ts';
import type { GenerationUuid } from '../wire/ids/generation-id.ts';
import { recordAfter } from './audited.ts';
import { costCalculation } from './cost-calculation.ts';
import { type ExportSpan, exportEntries, exportGenerations } from './exports.ts';
import { verificationAct } from './ledger-verification.ts';
import type { OperationsContext } from './operations-context.ts';

/** Reads, exports and prunes generations; exports and verifies the ledger. */
export function recordOperations(context: OperationsContext) {
  const { database, clock } = context;
  return {
    exportEntries: (onlyAccount: number | null, span?: ExportSpan): AsyncIterable<EntryRow> =>
      exportEntries(database, onlyAccount, span),

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

    /**
     * One record with its account, in the export format, with the calculation of its cost; by the id of
     * its generation or of its request, also a refused one. Null when it does not exist.
     */
    readGeneration: async (id: GenerationUuid): Promise<object | null> => {
      const row = (await findAnyGeneration(database, id)) ?? (await readAnyRefusal(database, id));
      if (row === null) return null;
      const [price] = row.priceVersion === null ? [] : await readPrices(database, [row.priceVersion]);
      const refunded = await refundedOf(database, row.accountId, row.uuid);
      return {
        ...exportedGeneration(row),
        price: price === undefined ? null : costCalculation(row, price),
        refunded_krw: krwToDecimal(krwOfMicro(refunded)),
      };
    },

    exportGenerations: (onlyAccount: number | null, span?: ExportSpan): AsyncIterable<object> =>
      exported(exportGenerations(database, onlyAccount, span)),

    pruneGenerations: async (options: PruneOptions): Promise<PruneOutcome> => {
      const outcome = await pruneGenerations(database, options, { nowMs: clock.now(), keep: keepHours });
      await recordAfter(context, { act: 'generations.prune', after: outcome });
      return outcome;
    },
  };
}

/** The record that counts a refused request of any account. */
async function readAnyRefusal(database: Database, uuid: string): Promise<GenerationRow | null> {
  const accountId = await accountOfRequest(database, uuid);
  return accountId === null ? null : findRefusal(database, accountId, uuid);
}

async function* exported(rows: ReturnType<typeof exportGenerations>): AsyncGenerator<object> {
  for await (const row of rows) yield exportedGeneration(row);
}
