import type { Act } from '../identity/audit.ts';
import { recordAct } from '../identity/audit-sql.ts';
import type { Database } from '../store/database.ts';
import { readServerTime } from '../store/server-time.ts';

/**
 * Records what a command did that is no use case of `operations/`; `by` is the person behind it
 * (spec:operator/1.18).
 */
export function recordCommand(database: Database, by: string, act: Act): Promise<void> {
  return database.transaction(async (sql) =>
    recordAct(sql, { kind: 'cli', name: by }, act, await readServerTime(sql)),
  );
}
