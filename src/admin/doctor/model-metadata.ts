import type { Config } from '../../config/config.ts';
import { isoDay, seoulDayAt } from '../../time/period.ts';
import type { Finding } from './finding.ts';

/** Older metadata lacks new models and their limits. */
const maxAgeDays = 180;

/** The age of the public model metadata, where the configuration uses it. */
export function examineMetadata({ metadata }: Pick<Config, 'metadata'>, nowMs: number): readonly Finding[] {
  if (metadata === null) return [];
  const message = `of ${metadata.asOf} (${metadata.source})`;
  const isOld = metadata.asOf < isoDay(seoulDayAt(nowMs - maxAgeDays * 86_400_000));
  const remedy = `older than ${maxAgeDays} days: naru models update FILE, or naru models refresh after an upgrade`;
  return [
    isOld
      ? { name: 'model metadata', ok: true, isWarning: true, message: `${message}, ${remedy}` }
      : { name: 'model metadata', ok: true, message },
  ];
}
