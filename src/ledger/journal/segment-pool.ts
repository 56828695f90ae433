import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Clock } from '../../time/clock.ts';
import type { Disk } from './disk.ts';
import type { JournalEvent } from './errors.ts';
import { createSegment, type JournalOwner, type Segment, segmentOf, syncDirectory } from './segment.ts';

/** What `SegmentPool` needs. */
export interface SegmentPoolOptions {
  readonly disk: Disk;
  readonly dir: string;
  readonly segmentBytes: number;
  readonly maxBytes: number;
  /** Upper bound of the settled segments that are kept. */
  readonly maxKeptBytes: number;
  /** The owner of the records that are written; null: none. */
  readonly owner: JournalOwner | null;
  readonly clock: Clock;
  readonly report: (event: JournalEvent) => void;
  /** A segment became ready for writes. */
  readonly onReady: () => void;
  /** A segment could not be made; it may have been taken already. */
  readonly onFailed: (segment: Segment) => void;
}

/** Why there is no further segment. */
interface Blockage {
  readonly reason: 'failed' | 'full';
  readonly error?: unknown;
}

const retryMs = 1000;
const noSpace: readonly unknown[] = ['ENOSPC', 'EDQUOT'];

/**
 * The segment files of one directory: keeps one more ready than is in use, and deletes those that
 * are no longer needed.
 */
export class SegmentPool {
  readonly #options: SegmentPoolOptions;
  readonly #segments = new Map<number, Segment>();
  #highest = 0;
  #bytes = 0;
  #keptBytes = 0;
  #foreign = 0;
  #next: Segment | undefined;
  /** The segment whose file is being made, and its completion; `#next`, or taken already. */
  #making: Segment | undefined;
  #made: Promise<void> = Promise.resolve();
  #deleting: Promise<void> = Promise.resolve();
  #blockage: Blockage | undefined;
  #closed = false;

  /**
   * Opens the directory, and removes the unfinished segments in it. Throws the file system's error
   * when it cannot.
   */
  constructor(options: SegmentPoolOptions) {
    this.#options = options;
    const { disk, dir } = options;
    disk.makePrivateDirectory(dir);
    for (const name of [...disk.list(dir)].sort()) {
      const path = join(dir, name);
      if (name.endsWith('.new')) disk.deleteNow(path);
      const [, digits, kind] = /^(\d{10})\.(journal|damaged|foreign)$/.exec(name) ?? [];
      if (digits === undefined) continue;
      const number = Number(digits);
      this.#highest = Math.max(this.#highest, number);
      if (kind === 'foreign') this.#foreign += 1;
      if (kind !== 'journal') continue;
      this.#keep(segmentOf({ number, salt: 0, owner: null }, path, disk.sizeOf(path), 'old'));
    }
  }

  /** Every segment that still has a file, oldest first. */
  get segments(): Iterable<Segment> {
    return this.#segments.values();
  }

  /** Their number. */
  get count(): number {
    return this.#segments.size;
  }

  /** Bytes they take on the disk. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of those that are settled and kept. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Files that were set aside because they belong to another database or node. */
  get foreign(): number {
    return this.#foreign;
  }

  /** Whether `take` would return a segment. */
  get hasNext(): boolean {
    return this.#next !== undefined && this.#blockage === undefined;
  }

  /** The reason why there is no further segment, if any. */
  get blockage(): Blockage | undefined {
    return this.#blockage;
  }

  /** A segment by its number; undefined once it is gone. */
  get(number: number): Segment | undefined {
    return this.#segments.get(number);
  }

  /**
   * Makes the first segment, and the directory's own name durable. Resolves also when no segment
   * could be made.
   */
  async open(): Promise<void> {
    const { disk, dir } = this.#options;
    await syncDirectory(disk, dirname(dir));
    this.#prepare();
    await this.#made;
  }

  /**
   * The next segment to write; the one after it is begun. It may still be preparing, unless the
   * last attempt failed: then an unfinished segment is not handed out. Undefined while there is
   * none.
   */
  take(): Segment | undefined {
    if (!this.hasNext) return undefined;
    const taken = this.#next;
    this.#next = undefined;
    this.#prepare();
    return taken;
  }

  /**
   * Keeps the file of a settled segment; the oldest ones are deleted when they take too much room.
   */
  keep(segment: Segment): void {
    if (segment.kept) return;
    segment.kept = true;
    this.#keptBytes += segment.bytes;
    if (segment.fd >= 0) this.#options.disk.close(segment.fd);
    segment.fd = -1;
    while (this.#keptBytes > this.#options.maxKeptBytes && this.#dropOldest('space'));
  }

  /** Deletes kept segments from the oldest on, until one is not among `numbers`. */
  expire(numbers: ReadonlySet<number>): void {
    for (let oldest = this.#oldest; oldest !== undefined && numbers.has(oldest.number); ) {
      if (!this.#dropOldest('expired')) return;
      oldest = this.#oldest;
    }
  }

  /** Resolves when pending deletions are done. */
  async deleted(): Promise<void> {
    await this.#deleting;
  }

  /**
   * Deletes the file of a segment that is no longer needed; a damaged one, and one of another
   * owner, is renamed and kept.
   */
  retire(segment: Segment): void {
    if (!this.#segments.delete(segment.number)) return;
    if (segment.foreign) this.#foreign += 1;
    if (segment.kept) this.#keptBytes -= segment.bytes;
    if (segment.fd >= 0) this.#options.disk.close(segment.fd);
    segment.fd = -1;
    const made = segment === this.#making ? this.#made : undefined;
    this.#deleting = this.#deleting.then(() => made).then(() => this.#delete(segment));
  }

  /** Ends the background work, and deletes the segment that was kept ready. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#made;
    if (this.#next !== undefined) this.retire(this.#next);
    this.#next = undefined;
    await this.#deleting;
  }

  #keep(segment: Segment): void {
    this.#segments.set(segment.number, segment);
    this.#bytes += segment.bytes;
  }

  #prepare(): void {
    if (this.#closed || this.#next !== undefined || this.#making !== undefined) return;
    const { dir, segmentBytes, maxBytes } = this.#options;
    if (this.#bytes + segmentBytes > maxBytes) {
      // A segment is prepared again when the deleted one is gone.
      if (this.#dropOldest('space')) return;
      this.#block({ reason: 'full' });
      return;
    }
    this.#highest += 1;
    const header = {
      number: this.#highest,
      salt: randomBytes(4).readUInt32LE(),
      owner: this.#options.owner,
    };
    const path = join(dir, `${String(header.number).padStart(10, '0')}.journal`);
    const segment = segmentOf(header, path, segmentBytes, 'preparing');
    this.#next = segment;
    this.#keep(segment);
    this.#making = segment;
    this.#made = createSegment(this.#options.disk, segment).then(
      (fd) => this.#ready(segment, fd),
      (error: unknown) => this.#failed(segment, error),
    );
  }

  #ready(segment: Segment, fd: number): void {
    this.#making = undefined;
    segment.exists = true;
    if (segment.state === 'preparing') {
      segment.fd = fd;
      segment.state = 'ready';
    } else this.#options.disk.close(fd); // Given up meanwhile, with what waited for it.
    if (this.#blockage !== undefined) this.#options.report({ kind: 'unblocked' });
    this.#blockage = undefined;
    this.#options.onReady();
    this.#prepare();
  }

  #failed(segment: Segment, error: unknown): void {
    this.#making = undefined;
    segment.state = 'failed';
    segment.cause = error;
    if (this.#next === segment) this.#next = undefined;
    this.#block({ reason: 'failed', error });
    if (noSpace.includes((error as { readonly code?: unknown } | null)?.code)) this.#dropOldest('space');
    this.#options.onFailed(segment);
    this.#options.clock.after(retryMs, () => this.#prepare());
  }

  get #oldest(): Segment | undefined {
    const [oldest] = this.#segments.values();
    return oldest;
  }

  /**
   * Deletes the oldest segment if it is kept; false when it is not. Only ever the oldest: a
   * settlement that was given up precedes the record of its failure, and without that record it
   * would be charged after a failover.
   */
  #dropOldest(reason: 'expired' | 'space'): boolean {
    const segment = this.#oldest;
    if (segment?.kept !== true) return false;
    this.#options.report({ kind: 'uncovered', segment: segment.number, reason });
    this.retire(segment);
    return true;
  }

  #block(blockage: Blockage): void {
    if (this.#blockage?.reason !== blockage.reason) this.#options.report({ kind: 'blocked', ...blockage });
    this.#blockage = blockage;
  }

  async #delete(segment: Segment): Promise<void> {
    const { path, number, damaged, foreign, bytes, exists } = segment;
    const { disk, dir } = this.#options;
    const kept = foreign ? 'foreign' : damaged ? 'damaged' : null;
    try {
      if (exists && kept !== null) await disk.rename(path, path.replace(/journal$/, kept));
      else if (exists) await disk.remove(path);
      if (exists) await syncDirectory(disk, dir);
    } catch (error) {
      this.#options.report({ kind: 'litter', segment: number, error });
    }
    this.#bytes -= bytes;
    // A segment that was never made frees no disk: an immediate retry would be a busy loop.
    if (exists || this.#blockage?.reason === 'full') this.#prepare();
  }
}
