/**
 * Why the journal rejects a record. `failed`: the disk rejected a write, a sync or a new segment.
 * `full`: the segments have reached `maxBytes`. `slow`: the disk has not finished a new segment and
 * the waiting records already fill it. `closed`: the journal was closed.
 */
export type JournalFault = 'failed' | 'full' | 'slow' | 'closed';

/** The journal cannot take or keep a record. Its `cause` is the error of the disk, if any. */
export class JournalUnavailable extends Error {
  override readonly name = 'JournalUnavailable';
  readonly reason: JournalFault;

  constructor(reason: JournalFault, cause?: unknown) {
    super(messages[reason], cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

const messages: Readonly<Record<JournalFault, string>> = {
  failed: 'the disk refused to keep a record of the journal',
  full: 'the journal has reached its size limit: its records are not being settled',
  slow: 'the disk is too slow to give the journal another segment',
  closed: 'the journal is closed',
};

/**
 * Events for the operator. `lost`: records of this segment that were not yet durable were given up,
 * and their callers got a rejection. `blocked`: no further segment can be made; the current one
 * still takes what fits. `unblocked`: that is over. `torn`: a segment ends inside a record, as it
 * does after a crash. `damaged`: bytes that had been written are unreadable or cut off and records
 * are missing; the file is kept as `.damaged`. `foreign`: a segment belongs to another database or
 * another node; it was not replayed and is kept as `.foreign`. `litter`: a settled segment could
 * not be deleted. `uncovered`: a settled segment was deleted although a failover could still lose
 * its settlements, because it was kept for the maximum time, or for its disk space.
 */
export type JournalEvent =
  | { readonly kind: 'lost'; readonly segments: readonly number[]; readonly error: unknown }
  | { readonly kind: 'blocked'; readonly reason: 'failed' | 'full'; readonly error?: unknown }
  | { readonly kind: 'unblocked' }
  | { readonly kind: 'torn'; readonly segment: number; readonly offset: number }
  | {
      readonly kind: 'damaged';
      readonly segment: number;
      readonly offset: number;
      readonly bytes: number;
      readonly error?: unknown;
    }
  | {
      readonly kind: 'foreign';
      readonly segment: number;
      readonly database: string;
      readonly home: string;
    }
  | { readonly kind: 'uncovered'; readonly segment: number; readonly reason: 'expired' | 'space' }
  | { readonly kind: 'litter'; readonly segment: number; readonly error: unknown };
