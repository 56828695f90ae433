import { type RetryOutcome, retryQuarantined, writeOffQuarantined } from '../ledger/quarantine.ts';
import { listQuarantined } from '../ledger/quarantine-sql.ts';
import { readNodes, writeOffNode } from '../nodes/nodes.ts';
import type { GenerationUuid } from '../wire/ids/generation-id.ts';
import { audited, recordAfter } from './audited.ts';
import type { OperationsContext } from './operations-context.ts';

/** Settlements that the database rejected, and nodes whose settlements are lost. */
export function settlementOperations(context: OperationsContext) {
  const { database } = context;
  return {
    /** The settlements that the database rejected: the open ones, or all. */
    readQuarantine: (all: boolean) => listQuarantined(database, all),

    /** Retries one or all rejected settlements. */
    retryQuarantined: async (only: GenerationUuid | null, reason?: string): Promise<RetryOutcome> => {
      const outcome = await retryQuarantined(database, only);
      const settled = [...outcome.values()].filter((reason) => reason === null).length;
      const subject = only === null ? {} : { subject: only };
      if (outcome.size > 0)
        await recordAfter(context, {
          act: 'quarantine.retry',
          ...subject,
          ...(reason === undefined ? {} : { reason }),
          after: { tried: outcome.size, settled },
        });
      return outcome;
    },

    /** False when this generation has no open quarantined settlement. */
    writeOffQuarantined: (options: {
      readonly uuid: GenerationUuid;
      readonly reason: string;
    }): Promise<boolean> =>
      writeOffQuarantined(
        audited<boolean>(context, (isDone) =>
          isDone ? { act: 'quarantine.write_off', subject: options.uuid, reason: options.reason } : null,
        ),
        options,
      ),

    readNodes: () => readNodes(database),

    /** Removes a lost node whose journal cannot be recovered. */
    writeOffNode: (options: { readonly home: string; readonly reason: string }) =>
      writeOffNode(
        audited<string>(context, (outcome) =>
          outcome === 'closed'
            ? { act: 'node.write_off', subject: options.home, reason: options.reason }
            : null,
        ),
        options,
      ),
  };
}
