import type { Disk } from './disk.ts';
import type { JournalEvent } from './errors.ts';
import { type RecordType, recordBytesAt } from './record.ts';
import { firstRecordAt, type JournalOwner, readHeader, type Segment } from './segment.ts';

/** A record found in a segment. The payload is a view of the segment's bytes. */
export interface FoundRecord {
  readonly type: RecordType;
  readonly payload: Buffer;
}

/**
 * The records of a segment that an earlier process left, in the order of their appending, read on
 * demand. Unreadable bytes are reported once the records around them are known; a segment with
 * damage, or shorter than it was made, is marked. A segment that names another owner than the reader is reported and marked, and
 * none of its records is read; null reads the segments of all owners.
 */
export function* readSegment(
  disk: Disk,
  segment: Segment,
  report: (event: JournalEvent) => void,
  reader: JournalOwner | null = null,
): Generator<FoundRecord> {
  const { number } = segment;
  const damage = (offset: number, bytes: number, error?: unknown): void => {
    segment.damaged = true;
    report({ kind: 'damaged', segment: number, offset, bytes, ...(error === undefined ? {} : { error }) });
  };
  let bytes: Buffer;
  try {
    bytes = disk.read(segment.path);
  } catch (error) {
    return damage(0, segment.bytes, error);
  }
  const end = lastUsedByte(bytes);
  const header = readHeader(bytes);
  if (header?.number !== number) {
    // All zeros: it never had an acknowledged record. A shorter file is part of a copy, since a
    // segment gets its name when all of it is on the disk.
    return end <= firstRecordAt && header === null && bytes.length > firstRecordAt
      ? report({ kind: 'torn', segment: number, offset: 0 })
      : damage(0, end);
  }
  const { owner } = header;
  // A segment that was only prepared has no record.
  if (end > firstRecordAt && reader !== null && owner !== null && !isSame(owner, reader)) {
    segment.foreign = true;
    return report({ kind: 'foreign', segment: number, ...owner });
  }
  const missing = header.bytes - bytes.length;
  let at = firstRecordAt;
  while (at < end) {
    const found = nextRecord(bytes, at, end, header.salt);
    if (found === null && missing > 0) break;
    if (found === null) return report({ kind: 'torn', segment: number, offset: at });
    if (found.at > at) damage(at, found.at - at);
    at = found.at + found.bytes;
    yield { type: bytes.readUInt8(found.at + 8), payload: bytes.subarray(found.at + 9, at) };
  }
  if (missing > 0) damage(at, bytes.length - at + missing);
}

function isSame(one: JournalOwner, other: JournalOwner): boolean {
  return one.database === other.database && one.home === other.home;
}

/**
 * The first valid record at or after `from`. Searching byte by byte is safe because a checksum is
 * valid at one offset of one segment only, and fast because text read as a length (0x20202020 and
 * up) is longer than any segment.
 */
function nextRecord(
  bytes: Buffer,
  from: number,
  end: number,
  salt: number,
): { at: number; bytes: number } | null {
  for (let at = from; at < end; at++) {
    const found = recordBytesAt(bytes, at, salt);
    if (found > 0) return { at, bytes: found };
  }
  return null;
}

/**
 * The end of what was ever written: beyond it are only the zeros of the allocation, where no record
 * can begin.
 */
function lastUsedByte(bytes: Buffer): number {
  const zeros = Buffer.alloc(64 * 1024);
  let end = bytes.length;
  while (end > 0) {
    const start = Math.max(0, end - zeros.length);
    if (bytes.compare(zeros, 0, end - start, start, end) !== 0) break;
    end = start;
  }
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
}
