import type { Config } from '../config/config.ts';
import { describeError, type Log } from '../log/log.ts';
import type { JournalEvent } from './journal/errors.ts';

/** Whether the journal keeps settled segments. The embedded database has no standbys. */
export function keepsSettled({ database, settlement }: Pick<Config, 'database' | 'settlement'>): boolean {
  return database.url !== 'embedded' && settlement.keepSettledMs !== 0;
}

const foreignMessage =
  'the segment belongs to another database or node and was set aside: settle it there with `naru node recover`';

const uncoveredMessage =
  'the segment was kept for standbys and is deleted before all of them may have its charges: a failover until then loses those charges';

/** Logs what the journal reports. */
export function reportJournal(log: Log, event: JournalEvent): void {
  const { kind } = event;
  const detail = 'error' in event && event.error !== undefined ? describeError(event.error) : null;
  const segment = 'segment' in event ? event.segment : null;
  // Every crash leaves a torn end; everything else needs the operator.
  if (kind === 'torn' || kind === 'unblocked') log.info('journal', { kind, segment });
  else if (kind === 'uncovered')
    log.warn('journal', { kind, segment, reason: event.reason, detail: uncoveredMessage });
  else if (kind === 'foreign') {
    const { database, home } = event;
    log.error('journal', { kind, segment, database, home, detail: foreignMessage });
  } else log.error('journal', { kind, segment, detail });
}
