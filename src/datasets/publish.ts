import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import { SourceLost } from './source-reader.ts';
import { stillHolds } from './sync-sql.ts';

/**
 * Runs `work` in one transaction, if `holder` still has the source: what is published becomes visible as a whole, and never by
 * a process that another has taken over from. Throws `SourceLost` otherwise.
 */
export function publish<T>(database: Database, holder: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  return database.transaction(async (sql) => {
    if (!(await stillHolds(sql, holder))) throw new SourceLost('another process talks to the source');
    return work(sql);
  });
}
