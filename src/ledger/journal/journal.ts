import type { Clock } from '../../time/clock.ts';
import { type Disk, systemDisk } from './disk.ts';
import type { JournalEvent } from './errors.ts';
import { JournalUnavailable } from './errors.ts';
import type { Payload, RecordType } from './record.ts';
import { type FoundRecord, readSegment } from './replay.ts';
import type { JournalOwner, Segment } from './segment.ts';
import { Writer } from './writer.ts';

/** The directory and the limits of a journal. */
export interface JournalOptions {
  /**
   * A directory that no other process uses meanwhile. Created when absent; its mode becomes 0700.
   */
  readonly dir: string;
  readonly clock: Clock;
  /**
   * The owner of its records. Segments of another owner are set aside and not replayed; null: no
   * such check.
   */
  readonly owner?: JournalOwner | null;
  /** Size of one segment file; a record and its frame fit into one less 8 KiB. 16 MiB. */
  readonly segmentBytes?: number;
  /** Upper bound of all segment files together. 1 GiB. */
  readonly maxBytes?: number;
  /**
   * Segments whose records are all released are kept until `forget` or `expire`, for a failover;
   * false by default.
   */
  readonly keepsSettled?: boolean;
  /** Upper bound of these kept segments. 256 MiB. */
  readonly maxKeptBytes?: number;
  /** False breaks the promise of `durable`; only for negative controls. */
  readonly sync?: boolean;
  /** The file system; the machine's by default. */
  readonly disk?: Disk;
  /** Runs a task when this turn of the event loop has ended; `setImmediate` by default. */
  readonly atTurnEnd?: (task: () => void) => void;
  /** Called with events for the operator. Must not throw. */
  readonly report?: (event: JournalEvent) => void;
}

declare const segmentNumber: unique symbol;
/**
 * Identifies one appended or replayed record until it is released. Opaque, and valid for this
 * journal only.
 */
export type Ticket = number & { readonly [segmentNumber]: true };

/**
 * A record that an earlier process left. The payload is a view of its whole segment: copy it to
 * keep it for long.
 */
export interface ReplayedRecord extends FoundRecord {
  readonly ticket: Ticket;
}

/** The state now, and counts since `open`. */
export interface JournalStats {
  readonly segments: number;
  readonly bytes: number;
  /** Bytes of the segments that are settled and kept for a failover. */
  readonly keptBytes: number;
  readonly liveRecords: number;
  /** Files of another database or node that were set aside, by this process or an earlier one. */
  readonly foreign: number;
  /** Why no further segment can be made; null when one can. */
  readonly blocked: 'failed' | 'full' | null;
  readonly appended: number;
  readonly writes: number;
  readonly syncs: number;
}

const mebibyte = 1024 * 1024;

/**
 * The write-ahead journal of one process (spec:money/5). README.md beside this file is its
 * contract.
 */
export class Journal {
  readonly #writer: Writer;
  readonly #disk: Disk;
  readonly #owner: JournalOwner | null;
  readonly #report: (event: JournalEvent) => void;
  #replayed = false;

  private constructor(options: JournalOptions) {
    this.#report = options.report ?? (() => {});
    this.#disk = options.disk ?? systemDisk;
    this.#owner = options.owner ?? null;
    this.#writer = new Writer({
      disk: this.#disk,
      atTurnEnd: options.atTurnEnd ?? setImmediate,
      dir: options.dir,
      owner: this.#owner,
      clock: options.clock,
      segmentBytes: options.segmentBytes ?? 16 * mebibyte,
      maxBytes: options.maxBytes ?? 1024 * mebibyte,
      maxKeptBytes: options.maxKeptBytes ?? 256 * mebibyte,
      keepsSettled: options.keepsSettled ?? false,
      sync: options.sync ?? true,
      report: this.#report,
    });
  }

  /**
   * Opens the directory and starts a segment; records of earlier processes wait for `replay`.
   * Throws the file system's error when the directory cannot be used. A full disk or a journal at
   * `maxBytes` does not prevent opening.
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const journal = new Journal(options);
    await journal.#writer.pool.open();
    return journal;
  }

  /**
   * Takes a record, to be written when this turn of the event loop ends; `durable` resolves when it
   * is safe. Throws `JournalUnavailable` when there is no room for it, RangeError when no segment
   * could hold it. After a throw there is no record. The parts of a payload are written one behind
   * the other: joined before, a long text would be copied once more.
   */
  append(type: RecordType, ...payload: Payload): Ticket {
    return this.#writer.append(type, payload).number as Ticket;
  }

  /**
   * Resolves once every record appended before this call is on the disk. Rejects with
   * `JournalUnavailable` when that fails, or has failed for the segment of this ticket: the record
   * may or may not be found at replay. Rejects for a ticket not live.
   */
  durable(ticket: Ticket): Promise<void> {
    const segment = this.#writer.pool.get(ticket);
    if (segment?.state === 'ready' && segment.live > 0) return this.#writer.settled();
    return Promise.try(() => {
      const { state, cause } = this.#live(ticket);
      if (state === 'failed') throw new JournalUnavailable('failed', cause);
      return this.#writer.settled();
    });
  }

  /**
   * Releases a record that is settled elsewhere: once for every ticket, also for one that `durable`
   * rejected. A segment whose records are all released is deleted, or kept. Throws for a ticket not
   * live.
   */
  release(ticket: Ticket): void {
    const segment = this.#live(ticket);
    segment.live -= 1;
    this.#writer.releaseSegment(segment);
  }

  /**
   * Bytes of the segments begun after this record's. One live record keeps its whole segment; when
   * this nears `maxBytes`, append a long-lived record again and release the old ticket.
   */
  bytesSince(ticket: Ticket): number {
    let bytes = 0;
    for (const segment of this.#writer.pool.segments) if (segment.number > ticket) bytes += segment.bytes;
    return bytes;
  }

  /**
   * The records that earlier processes left, oldest first, read from the disk on demand; every one
   * has a ticket to release. Works once. A segment that is not read to its end stays for the next
   * owner.
   */
  *replay(): Generator<ReplayedRecord> {
    if (this.#replayed) throw new Error('a journal is replayed once');
    this.#replayed = true;
    for (const segment of [...this.#writer.pool.segments]) {
      if (segment.state !== 'old') continue;
      // The iteration pins the segment: otherwise releasing its first record would delete it before
      // the second.
      segment.live += 1;
      for (const record of readSegment(this.#disk, segment, this.#report, this.#owner)) {
        segment.live += 1;
        segment.hasRecords = true;
        yield { ...record, ticket: segment.number as Ticket };
      }
      this.release(segment.number as Ticket);
    }
  }

  /** The settled segments that are kept, by number, oldest first. */
  get kept(): readonly number[] {
    return [...this.#writer.pool.segments].filter(({ kept }) => kept).map(({ number }) => number);
  }

  /** Deletes kept segments; works after `close` too. Resolves when they are gone. */
  forget(numbers: Iterable<number>): Promise<void> {
    const { pool } = this.#writer;
    for (const number of numbers) {
      const segment = pool.get(number);
      if (segment?.kept === true) pool.retire(segment);
    }
    return pool.deleted();
  }

  /**
   * Deletes kept segments although a failover could still lose their settlements, and reports each.
   * Only in order, from the oldest segment; those behind one that cannot be deleted yet stay.
   * Resolves when they are gone.
   */
  expire(numbers: ReadonlySet<number>): Promise<void> {
    const { pool } = this.#writer;
    pool.expire(numbers);
    return pool.deleted();
  }

  /** The state now, and counts since `open`. */
  stats(): JournalStats {
    const { pool, counts } = this.#writer;
    let liveRecords = 0;
    for (const segment of pool.segments) liveRecords += segment.live;
    const { count: segments, bytes, keptBytes, foreign, blockage } = pool;
    return { segments, bytes, keptBytes, liveRecords, foreign, blocked: blockage?.reason ?? null, ...counts };
  }

  /**
   * Makes everything durable and releases the directory; segments with live records stay for the
   * next owner. Rejects with `JournalUnavailable` when the last records could not be made durable;
   * the directory is released all the same.
   */
  close(): Promise<void> {
    return this.#writer.close();
  }

  #live(ticket: Ticket): Segment {
    const segment = this.#writer.pool.get(ticket);
    if (segment === undefined || segment.live === 0) throw new Error(`ticket ${ticket} has no live record`);
    return segment;
  }
}
