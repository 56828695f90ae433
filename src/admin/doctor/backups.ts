import { readRunSummaries } from '../../backup/runs-sql.ts';
import type { BackupConfig } from '../../config/config.ts';
import type { Database } from '../../store/database.ts';
import { systemClock } from '../../time/clock.ts';
import type { Finding } from './finding.ts';

const hourMs = 3_600_000;

/** Whether the last good backup of the schedule is young enough; nothing without a schedule. */
export async function examineBackups(
  backup: BackupConfig | null,
  database: Database,
): Promise<readonly Finding[]> {
  if (backup === null || backup.maxAgeHours === null) return [];
  const { goodAtMs, failedSince, lastError } = (await readRunSummaries(database)).backup;
  const failure = failedSince === 0 ? '' : `; ${failedSince} failed since, the last one: ${lastError}`;
  const name = 'backup';
  if (goodAtMs === null)
    return [{ name, ok: false, message: `none was made yet${failure}: run naru backup run` }];
  const hours = (systemClock.now() - goodAtMs) / hourMs;
  const message = `the last good one is ${hours.toFixed(1)} hours old${failure}`;
  return hours > backup.maxAgeHours
    ? [{ name, ok: false, message: `${message}: see naru backup runs` }]
    : [{ name, ok: true, message }];
}
