import type { Config } from '../config/config.ts';
import type { JournalEvent } from '../journal/errors.ts';
import { describeError, type Log } from '../log/log.ts';

/** Whether the journal keeps settled segments. The embedded database has no standbys. */
export function keepsSettled({ database, settlement }: Pick<Config, 'database' | 'settlement'>): boolean {
  return database.url !== 'embedded' && settlement.keepSettledMs !== 0;
}

const foreignWords =
  'it belongs to another database or node and was set aside: settle it there with `naru node recover`';

const uncoveredMessage =
  'it was kept for standbys and is deleted although some may not have its charges yet: until they do, a failover loses those charges';

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
    log.error('journal', { kind, segment, database, home, detail: foreignWords });
  } else log.error('journal', { kind, segment, detail });
}
