import { listHalfDropped } from '../../ledger/retention-sql.ts';
import type { Database } from '../../store/database.ts';
import type { Finding } from './finding.ts';

/** Months whose records are dropped in part, where each server drops its own. */
export async function examineRetention(database: Database): Promise<readonly Finding[]> {
  const months = await listHalfDropped(database);
  return months.map((month) => ({
    name: 'records',
    ok: false,
    message: `those of ${month} are dropped in part: unless naru generation prune is running, run it again`,
  }));
}
