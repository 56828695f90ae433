import { dirname } from 'node:path';
import type { Disk } from '../../src/ledger/journal/disk.ts';
import type { Random } from './random.ts';
import type { Timeline } from './time.ts';

interface File {
  /** What a reader sees. */
  bytes: Buffer;
  /** What is on the platter for certain. */
  safe: Buffer;
  /** Written since the last sync, in order. */
  loose: { readonly at: number; readonly bytes: Buffer }[];
}

/** A change of names that its directory has not been synced for. */
interface LooseName {
  readonly undo: () => void;
}

/** What a disk reports to the simulation; either may kill the calling process. */
export interface DiskPoints {
  readonly onSync: (when: 'before' | 'after') => void;
}

/**
 * The disk of one machine: it outlives processes, and what was not synced is lost, or half lost,
 * with the power.
 */
export class MachineDisk {
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #files = new Map<string, File>();
  #looseNames: LooseName[] = [];
  /** Every sync fails until then, and every write unless only syncs do. */
  failingUntilMs = 0;
  takesWrites = false;
  /** The approximate duration of a sync. */
  syncMs = 1;

  constructor(timeline: Timeline, random: Random) {
    this.#timeline = timeline;
    this.#random = random;
  }

  /** Bytes of every write that a sync has not covered; for outside observers. */
  get names(): readonly string[] {
    return [...this.#files.keys()].sort();
  }

  /**
   * The power fails: of what was not synced, each write is kept, lost, or torn, and names may be as
   * they were before.
   */
  losePower(): void {
    for (const file of this.#files.values()) {
      const bytes = Buffer.from(file.safe);
      for (const write of file.loose) {
        const fate = this.#random.int(0, 2);
        const kept =
          fate === 0 ? 0 : fate === 1 ? write.bytes.length : this.#random.int(0, write.bytes.length);
        write.bytes.copy(bytes, write.at, 0, kept);
      }
      file.bytes = bytes;
      file.safe = Buffer.from(bytes);
      file.loose = [];
    }
    const kept = this.#random.int(0, this.#looseNames.length);
    for (const { undo } of this.#looseNames.slice(kept).reverse()) undo();
    this.#looseNames = [];
  }

  /** The disk as one process has it: calls of a dead one have no effect. */
  for(isAlive: () => boolean, points: DiskPoints): Disk {
    const open = new Map<number, { readonly path: string; readonly file: File | null }>();
    let lastFd = 2;
    const never = new Promise<never>(() => {});
    const later = async <T>(delayMs: number, work: () => T): Promise<T> => {
      if (!isAlive()) return never;
      await this.#timeline.pause(delayMs);
      return isAlive() ? work() : never;
    };
    const failIfBad = (request: 'write' | 'sync'): void => {
      if (this.#timeline.nowMs < this.failingUntilMs && !(request === 'write' && this.takesWrites))
        throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    };
    const fileOf = (fd: number): File => {
      const file = open.get(fd)?.file;
      if (file == null) throw new Error(`${fd} is no open file`);
      return file;
    };
    const put = (file: File, bytes: Buffer, at: number): number => {
      const end = at + bytes.length;
      if (end > file.bytes.length) {
        file.bytes = Buffer.concat([file.bytes, Buffer.alloc(end - file.bytes.length)]);
        file.safe = Buffer.concat([file.safe, Buffer.alloc(end - file.safe.length)]);
      }
      bytes.copy(file.bytes, at);
      file.loose.push({ at, bytes: Buffer.from(bytes) });
      return bytes.length;
    };
    const makeSafe = (file: File): void => {
      for (const { at, bytes } of file.loose) bytes.copy(file.safe, at);
      file.loose = [];
    };
    return {
      makePrivateDirectory: () => {},
      list: (path) =>
        this.names.filter((name) => dirname(name) === path).map((name) => name.slice(path.length + 1)),
      sizeOf: (path) => this.#find(path).bytes.length,
      read: (path) => Buffer.from(this.#find(path).bytes),
      deleteNow: (path) => {
        if (isAlive()) this.#unlink(path);
      },
      open: (path, flags) =>
        later(0, () => {
          lastFd += 1;
          if (flags === 'wx') {
            failIfBad('write');
            const file: File = { bytes: Buffer.alloc(0), safe: Buffer.alloc(0), loose: [] };
            this.#files.set(path, file);
            this.#looseNames.push({ undo: () => this.#files.delete(path) });
            open.set(lastFd, { path, file });
          } else open.set(lastFd, { path, file: null });
          return lastFd;
        }),
      close: (fd) => void open.delete(fd),
      write: (fd, bytes, length, position) =>
        later(0, () => {
          failIfBad('write');
          return put(fileOf(fd), bytes.subarray(0, length), position);
        }),
      writeNow: (fd, bytes, offset, position) => {
        if (!isAlive()) return bytes.length - offset;
        failIfBad('write');
        return put(fileOf(fd), bytes.subarray(offset), position);
      },
      sync: async (fd) => {
        points.onSync('before');
        await later(this.#random.unit() * this.syncMs, () => {
          failIfBad('sync');
          const file = open.get(fd)?.file;
          if (file == null) this.#looseNames = [];
          else makeSafe(file);
          points.onSync('after');
        });
        return isAlive() ? undefined : never;
      },
      syncData: async (fd) => {
        const file = fileOf(fd);
        points.onSync('before');
        const covered = file.loose.length;
        await later(this.#random.unit() * this.syncMs, () => {
          failIfBad('sync');
          for (const { at, bytes } of file.loose.splice(0, covered)) bytes.copy(file.safe, at);
          points.onSync('after');
        });
        return isAlive() ? undefined : never;
      },
      rename: (from, to) =>
        later(0, () => {
          const file = this.#find(from);
          this.#files.delete(from);
          this.#files.set(to, file);
          this.#looseNames.push({
            undo: () => {
              this.#files.delete(to);
              this.#files.set(from, file);
            },
          });
        }),
      remove: (path) => later(0, () => this.#unlink(path)),
    };
  }

  #unlink(path: string): void {
    const file = this.#find(path);
    this.#files.delete(path);
    this.#looseNames.push({ undo: () => this.#files.set(path, file) });
  }

  #find(path: string): File {
    const file = this.#files.get(path);
    if (file === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
    return file;
  }
}
