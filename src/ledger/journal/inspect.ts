import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { systemDisk } from './disk.ts';
import { type FoundRecord, readSegment } from './replay.ts';
import { type JournalOwner, readHeader, segmentOf } from './segment.ts';

/**
 * A file of a journal that no process has opened: from the disk of a lost machine, from a copy, or
 * set aside.
 */
export interface FoundSegment {
  readonly path: string;
  /** Null when it names none, or cannot be read. */
  readonly owner: JournalOwner | null;
  /** It was set aside because it belongs to another database or node. */
  readonly isSetAside: boolean;
  /**
   * Whether part of it cannot be read, or it ends inside a record: after a crash, or because the copy
   * is not complete. Known once its records are read.
   */
  isDamaged: boolean;
  records(): Iterable<FoundRecord>;
}

/**
 * The segments in a folder, oldest first; nothing in it is changed. Throws the file system's error.
 */
export function inspectJournal(dir: string): readonly FoundSegment[] {
  return readdirSync(dir)
    .filter((name) => /^\d{10}\.(journal|foreign|damaged)$/.test(name))
    .sort()
    .map((name) => inspectSegment(join(dir, name), Number(name.slice(0, 10))));
}

function inspectSegment(path: string, number: number): FoundSegment {
  const header = readHeader(systemDisk.read(path));
  const found: FoundSegment = {
    path,
    owner: header?.owner ?? null,
    isSetAside: path.endsWith('.foreign'),
    isDamaged: false,
    *records() {
      const segment = segmentOf({ number, salt: 0, owner: null }, path, systemDisk.sizeOf(path), 'old');
      yield* readSegment(systemDisk, segment, (event) => {
        if (event.kind === 'damaged' || event.kind === 'torn') found.isDamaged = true;
      });
    },
  };
  return found;
}

/** Marks a segment that was set aside as settled: it no longer counts. */
export function markSettled({ path }: FoundSegment): void {
  renameSync(path, path.replace(/foreign$/, 'settled'));
}
