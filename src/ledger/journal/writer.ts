import { Batch } from './batch.ts';
import { JournalUnavailable } from './errors.ts';
import { framingBytes, type Payload, type RecordType } from './record.ts';
import { firstRecordAt, type Segment, writeAll } from './segment.ts';
import { SegmentPool, type SegmentPoolOptions } from './segment-pool.ts';

/** What `SegmentPool` needs, without the callbacks that the writer sets. */
type WriterOptions = Omit<SegmentPoolOptions, 'onReady' | 'onFailed'> & {
  readonly sync: boolean;
  /** Settled segments are kept until `forget` or `expire`. */
  readonly keepsSettled: boolean;
  readonly atTurnEnd: (task: () => void) => void;
};

/**
 * Writes records to the current segment, once per turn of the event loop, and makes them durable,
 * one sync at a time: callers during a sync share the next one. On any error it gives up every
 * segment with bytes not yet synced and continues in a new one: after a failed fdatasync the kernel
 * may have dropped the pages and report the next one as successful.
 */
export class Writer {
  readonly pool: SegmentPool;
  readonly #options: WriterOptions;
  readonly #maxRecordBytes: number;
  readonly #batch = new Batch();
  #current: Segment | undefined;
  /**
   * Segments with bytes that neither a finished sync nor the current one covers, and those of the
   * current one. One or two at a time, in an array: the collector keeps
   * the tables of a `Set` that each sync clears (see `LinkedList`).
   */
  #dirty: Segment[] = [];
  #underWay: readonly Segment[] = [];
  /** Callers waiting for the next sync, and for the current one. */
  #waiting: PromiseWithResolvers<void> | undefined;
  #syncing: PromiseWithResolvers<void> | undefined;
  /**
   * Records appended so far, how many of them the current sync covers, and how many need no further
   * sync.
   */
  #appended = 0;
  #covered = 0;
  #done = 0;
  #turnScheduled = false;
  #closed = false;
  #writes = 0;
  #syncs = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#maxRecordBytes = options.segmentBytes - firstRecordAt;
    this.pool = new SegmentPool({
      ...options,
      onReady: () => {
        if (!this.#closed) this.#current ??= this.pool.take();
        this.#turn();
      },
      onFailed: (segment) => {
        if (segment === this.#current) this.#fail(segment.cause);
        else this.releaseSegment(segment);
      },
    });
  }

  /** Records appended, write calls and syncs since the start. */
  get counts(): { readonly appended: number; readonly writes: number; readonly syncs: number } {
    return { appended: this.#appended, writes: this.#writes, syncs: this.#syncs };
  }

  /** See `Journal.append`. */
  append(type: RecordType, payload: Payload): Segment {
    if (this.#closed) throw new JournalUnavailable('closed');
    if (type !== (type & 0xff)) throw new RangeError(`a record's type is a byte, not ${type}`);
    let length = 0;
    for (const part of payload) length += part.length;
    const bytes = length > this.#maxRecordBytes ? Number.POSITIVE_INFINITY : this.#batch.draft(payload);
    if (bytes > this.#maxRecordBytes) {
      throw new RangeError(`a record's payload is at most ${this.#maxRecordBytes - framingBytes} bytes`);
    }
    const segment = this.#segmentWithRoom(bytes);
    this.#batch.add(type, segment.salt, segment.written);
    segment.live += 1;
    this.#appended += 1;
    this.#schedule();
    return segment;
  }

  /**
   * Resolves when everything appended so far is durable; rejects with `JournalUnavailable` when
   * that failed.
   */
  settled(): Promise<void> {
    if (this.#done === this.#appended) return Promise.resolve();
    if (this.#syncing !== undefined && this.#covered === this.#appended) return this.#syncing.promise;
    this.#waiting ??= Promise.withResolvers();
    this.#schedule();
    return this.#waiting.promise;
  }

  /**
   * Closes a segment that is not written any more, and deletes it once its records are released.
   */
  releaseSegment(segment: Segment): void {
    if (segment === this.#current || segment.syncing || segment.state === 'preparing' || segment.kept) return;
    if (segment.live === 0) {
      this.#dirty = this.#dirty.filter((other) => other !== segment);
      if (this.#options.keepsSettled && segment.hasRecords && !segment.foreign) this.pool.keep(segment);
      else this.pool.retire(segment);
    } else if (segment.fd >= 0 && !this.#dirty.includes(segment)) {
      this.#options.disk.close(segment.fd);
      segment.fd = -1;
    }
  }

  /**
   * Makes everything durable, or rejects as `settled` does; leaves no descriptor and no empty
   * segment either way.
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    try {
      await this.settled();
    } finally {
      await this.#syncing?.promise.catch(() => {});
      await this.pool.close();
      this.#current = undefined;
      for (const segment of [...this.pool.segments])
        if (segment.state !== 'old') this.releaseSegment(segment);
      await this.pool.close();
    }
  }

  /**
   * The segment for the drafted record: the current one, or the next when it does not fit any more.
   */
  #segmentWithRoom(bytes: number): Segment {
    const full = this.#current;
    if (full !== undefined) {
      if (full.written + this.#batch.length + bytes <= full.bytes) return full;
      if (full.state === 'preparing') throw new JournalUnavailable('slow');
      if (this.pool.hasNext) {
        this.#flush();
        if (this.#current === full) this.#current = this.pool.take();
        this.releaseSegment(full);
        if (this.#current !== undefined) return this.#current;
      }
    }
    const { reason, error } = this.pool.blockage ?? {
      reason: full === undefined ? 'failed' : 'slow',
      error: undefined,
    };
    throw new JournalUnavailable(reason, error);
  }

  #schedule(): void {
    if (this.#turnScheduled) return;
    this.#turnScheduled = true;
    this.#options.atTurnEnd(() => {
      this.#turnScheduled = false;
      this.#turn();
    });
  }

  /** Records that wait for their segment's file delay the sync as well: it would not cover them. */
  #turn(): void {
    this.#flush();
    if (this.#waiting !== undefined && this.#syncing === undefined && this.#batch.length === 0)
      this.#startSync();
  }

  #flush(): void {
    const segment = this.#current;
    if (segment?.state !== 'ready' || this.#batch.length === 0) return;
    try {
      writeAll(this.#options.disk, segment.fd, this.#batch.bytes, segment.written);
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#writes += 1;
    segment.written += this.#batch.length;
    segment.hasRecords = true;
    this.#batch.clear();
    if (!this.#dirty.includes(segment)) this.#dirty.push(segment);
  }

  #startSync(): void {
    this.#syncing = this.#waiting;
    this.#waiting = undefined;
    this.#covered = this.#appended;
    this.#underWay = this.#dirty;
    this.#dirty = [];
    this.#syncs += 1;
    for (const segment of this.#underWay) segment.syncing = true;
    const { sync, disk } = this.#options;
    const syncs = sync ? this.#underWay.map((segment) => disk.syncData(segment.fd)) : [];
    void Promise.allSettled(syncs).then((results) => {
      const failed = results.find((result) => result.status === 'rejected');
      this.#endSync(failed);
    });
  }

  #endSync(failed: PromiseRejectedResult | undefined): void {
    const [callers, segments] = [this.#syncing, this.#underWay];
    this.#syncing = undefined;
    for (const segment of segments) segment.syncing = false;
    if (failed === undefined) {
      this.#done = Math.max(this.#done, this.#covered);
      callers?.resolve();
    } else {
      this.#fail(failed.reason);
      callers?.reject(new JournalUnavailable('failed', failed.reason));
    }
    this.#underWay = [];
    for (const segment of segments) this.releaseSegment(segment);
    if (this.#waiting !== undefined) this.#schedule();
  }

  /**
   * Gives up what is not durable. The current sync may still succeed, and then its callers resolve;
   * but `durable` rejects for its segments from now on.
   */
  #fail(error: unknown): void {
    const lost = new Set([
      ...this.#underWay,
      ...this.#dirty,
      ...(this.#current === undefined ? [] : [this.#current]),
    ]);
    const segments = [...lost].map((segment) => segment.number);
    if (this.#appended > this.#done) this.#options.report({ kind: 'lost', segments, error });
    for (const segment of lost) {
      segment.state = 'failed';
      segment.cause = error;
    }
    this.#dirty = [];
    this.#batch.clear();
    this.#done = this.#appended;
    this.#current = this.pool.take();
    this.#waiting?.reject(new JournalUnavailable('failed', error));
    this.#waiting = undefined;
    for (const segment of lost) this.releaseSegment(segment);
  }
}
