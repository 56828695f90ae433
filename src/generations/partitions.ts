import type { Database } from '../store/database.ts';
import { isoDay, periodAt, seoulDayAt } from '../time/period.ts';
import { ensureGenerationPartition, partitionOf } from './partitions-sql.ts';

/**
 * Partitions are made this many months ahead; a row of a month without one goes to the default
 * partition.
 */
const monthsAhead = 2;

/** Makes the partitions of the Seoul month that contains `atMs` and of the next two. */
export async function ensurePartitions(database: Database, atMs: number): Promise<void> {
  let instantMs = atMs;
  for (let ahead = 0; ahead <= monthsAhead; ahead += 1) {
    const month = periodAt('monthly', instantMs);
    const name = partitionOf(isoDay(seoulDayAt(month.startMs)));
    await database.transaction((sql) => ensureGenerationPartition(sql, name, month.startMs, month.endMs));
    instantMs = month.endMs;
  }
}
