import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import { SourceLost } from './source-reader.ts';
import { hasLease } from './sync-sql.ts';

/**
 * Runs `work` in one transaction, if `holder` still has the lease of the source: what is published
 * becomes visible as a whole, and never by a process whose lease another has taken over. Throws
 * `SourceLost` otherwise.
 */
export function publish<T>(database: Database, holder: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  return database.transaction(async (sql) => {
    if (!(await hasLease(sql, holder))) throw new SourceLost('another process has the lease of the source');
    return work(sql);
  });
}
