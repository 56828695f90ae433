import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import type { SourceReader } from './source-reader.ts';

/** What a sync of one dataset needs. */
export interface SyncParts {
  readonly database: Database;
  readonly reader: SourceReader;
  readonly clock: Clock;
}

/** The result of a sync. */
export interface Synced {
  readonly rows: number;
  /** The last day of the data, `YYYY-MM-DD`; null: the source has no rows, and nothing was changed. */
  readonly through: string | null;
}
