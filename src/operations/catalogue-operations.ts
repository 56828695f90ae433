import { type CatalogueChange, isLargeChange } from '../catalogue/difference.ts';
import { differenceTo, publishPrices, readHistory, readPublished } from '../catalogue/publish.ts';
import { type DatasetName, DatasetSync } from '../datasets/sync.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { silentLog } from '../log/log.ts';
import { untilTaken } from '../nodes/nodes.ts';
import type { NodeRow } from '../nodes/nodes-sql.ts';
import { audited, recordAfter } from './audited.ts';
import { type CatalogueReview, reviewCatalogue } from './catalogue-review.ts';
import type { OperationsContext } from './operations-context.ts';

/** A published price. */
export type PublishedPrice = Awaited<ReturnType<typeof readPublished>>[number];

/** A publication, and how the nodes took it. */
export interface PublishedCatalogue {
  readonly edition: number;
  readonly changes: readonly CatalogueChange[];
  /** Nodes that do not serve the edition yet. */
  readonly late: readonly NodeRow[];
  /** Nodes that serve it while their configuration differs from it. */
  readonly differing: readonly NodeRow[];
}

/** Compares, publishes and reads prices; synchronises public data about models. */
export function catalogueOperations(context: OperationsContext) {
  const { database, clock } = context;
  return {
    /** The changes that publishing the configuration would make. */
    diffCatalogue: async (): Promise<readonly CatalogueChange[]> =>
      differenceTo(database, catalogueOf(context).config),

    /** What is published, and what the configuration would change; a faulty file is no error. */
    reviewCatalogue: (): Promise<CatalogueReview> =>
      reviewCatalogue(database, () => catalogueOf(context).config),

    /**
     * Publishes the configuration; running servers reload theirs. Resolves when every live node
     * bills the edition, or names those that do not. Throws an `OperatorError` for prices that
     * change by more than a factor of ten, unless `allowsLarge`.
     */
    publishCatalogue: async ({
      allowsLarge,
      reason,
    }: {
      readonly allowsLarge: boolean;
      readonly reason?: string;
    }): Promise<PublishedCatalogue> => {
      const { edition, changes } = await publishPrices(
        audited<{ readonly edition: number; readonly changes: readonly object[] }>(
          context,
          ({ edition, changes }) => ({
            act: 'models.publish',
            subject: `edition ${edition}`,
            ...(reason === undefined ? {} : { reason }),
            after: { changes: changes.length },
          }),
        ),
        catalogueOf(context).configToPublish(),
        {
          atMs: clock.now(),
          announce: 'catalogue',
          permit: async (_sql, found) => allowsLarge || assertNoLarge(found),
        },
      );
      return { edition, changes, ...(await untilTaken(database, clock, edition)) };
    },

    readPublished: (): Promise<readonly PublishedPrice[]> => readPublished(database),

    readPriceHistory: (model: string | null) => readHistory(database, model),

    syncDatasets: async (names: readonly DatasetName[]) => {
      const outcomes = await syncDatasets(context, names);
      if (typeof outcomes !== 'string')
        await recordAfter(context, { act: 'datasets.sync', subject: names.join(', ') });
      return outcomes;
    },
  };
}

function assertNoLarge(changes: readonly CatalogueChange[]): true {
  const large = changes.filter(isLargeChange);
  if (large.length === 0) return true;
  const names = large.map(({ model, candidate }) => `${model} at ${candidate}`);
  const shown = names.length > 3 ? [...names.slice(0, 3), `${names.length - 3} more`] : names;
  throw new OperatorError(
    `nothing was published: the price of ${shown.join(', ')} changes by more than a factor of ten; check it with naru models diff, then publish with --yes`,
  );
}

function catalogueOf({ catalogue }: OperationsContext) {
  if (catalogue === undefined) throw new Error('this operator service was opened without a catalogue');
  return catalogue;
}

async function syncDatasets(
  { database, clock, datasets }: OperationsContext,
  names: readonly DatasetName[],
): ReturnType<DatasetSync['syncNow']> {
  if (datasets === undefined) return 'no_key';
  const sync = new DatasetSync({ settings: datasets, database, clock, log: silentLog });
  try {
    return await sync.syncNow(names);
  } finally {
    await sync.close();
  }
}
