import type { CatalogueChange } from '../catalogue/difference.ts';
import { differenceTo, publishPrices, readHistory, readPublished } from '../catalogue/publish.ts';
import { type DatasetName, DatasetSync } from '../datasets/sync.ts';
import { silentLog } from '../log/log.ts';
import { audited, recordAfter } from './audited.ts';
import { type CatalogueReview, reviewCatalogue } from './catalogue-review.ts';
import type { OperationsContext } from './operations-context.ts';

/** A published price. */
export type PublishedPrice = Awaited<ReturnType<typeof readPublished>>[number];

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

    /** Publishes the configuration; running servers reload theirs. */
    publishCatalogue: async (): Promise<{
      readonly edition: number;
      readonly changes: readonly CatalogueChange[];
    }> =>
      publishPrices(
        audited<{ readonly edition: number; readonly changes: readonly object[] }>(
          context,
          ({ edition, changes }) => ({
            act: 'models.publish',
            subject: `edition ${edition}`,
            after: { changes: changes.length },
          }),
        ),
        catalogueOf(context).configToPublish(),
        { atMs: clock.now(), announce: true },
      ),

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
