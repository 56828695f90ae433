import type { Database } from '../store/database.ts';
import { type Clock, isoOf } from '../time/clock.ts';
import type { SourceReader } from './source.ts';

/** What reading a dataset needs. */
export interface DatasetParts {
  readonly database: Database;
  readonly clock: Clock;
  /** Whether sample rows are shown where the source has none. */
  readonly samples: boolean;
}

/** The response of a dataset: rows, and their metadata. */
export interface DatasetResponse {
  readonly data: readonly object[];
  readonly meta: object;
}

/** What the sync of a dataset needs. */
export interface SyncParts {
  readonly reader: SourceReader;
  readonly database: Database;
  readonly clock: Clock;
}

/** The result of a sync. */
export interface Synced {
  readonly rows: number;
  /** The last day of the data, `YYYY-MM-DD`; null: the source has no rows, and nothing was changed. */
  readonly through: string | null;
}

/**
 * The attribution that the source's licence requires with its rows: its name, the page with the same
 * data and the time (spec:api/19.4; OpenRouter's description of its datasets: CC BY 4.0).
 */
export function attributionOf(page: 'apps' | 'rankings', asOfMs: number) {
  return {
    citation: `Source: OpenRouter (openrouter.ai/${page}), as of ${isoOf(asOfMs)}.`,
    license: 'CC BY 4.0',
    license_url: 'https://creativecommons.org/licenses/by/4.0/',
  };
}

/** For sample rows, and for no rows. */
export const noAttribution = { citation: null, license: null, license_url: null };
