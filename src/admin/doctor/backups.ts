import { readRunSummaries } from '../../backup/runs-sql.ts';
import type { BackupConfig } from '../../config/config.ts';
import type { Database } from '../../store/database.ts';
import { readServerTime } from '../../store/server-time.ts';
import { maxClockSkewMs } from '../../time/clock.ts';
import type { Finding } from './findings.ts';

const hourMs = 3_600_000;

/** Whether the last good backup of the schedule is young enough; nothing without a schedule. */
export async function examineBackups(
  backup: BackupConfig | null,
  database: Database,
): Promise<readonly Finding[]> {
  if (backup === null || backup.maxAgeHours === null) return [];
  const summaries = await readRunSummaries(database);
  const { goodAtMs, failedSince, lastError } = summaries.backup;
  const { drill } = summaries;
  const drills: readonly Finding[] =
    drill.failedSince === 0
      ? []
      : [{ name: 'backup drill', ok: false, message: `${drill.lastError}: see naru backup runs` }];
  const failure = failedSince === 0 ? '' : `; ${failedSince} failed since, the last one: ${lastError}`;
  const name = 'backup';
  if (goodAtMs === null)
    return [{ name, ok: false, message: `none was made yet${failure}: run naru backup run` }, ...drills];
  const ageMs = (await readServerTime(database)) - goodAtMs;
  const hours = Math.abs(ageMs / hourMs).toFixed(1);
  const isFuture = ageMs < -maxClockSkewMs;
  const message = isFuture
    ? `the last good one was taken ${hours} hours in the future, by a clock that was wrong${failure}`
    : `the last good one is ${hours} hours old${failure}`;
  return isFuture || ageMs > backup.maxAgeHours * hourMs
    ? [{ name, ok: false, message: `${message}: see naru backup runs` }, ...drills]
    : [{ name, ok: true, message }, ...drills];
}
