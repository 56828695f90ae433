import { crc32 } from 'node:zlib';

/**
 * The type of a record; the journal itself attaches no meaning to it. Any integer from 0 to 255.
 */
export type RecordType = number;

/** The parts of a record's payload, in their order. */
export type Payload = readonly (string | Buffer)[];

/** A call began. */
export const OPEN: RecordType = 1;

/** A call ended, with its cost. */
export const FINAL: RecordType = 2;

/**
 * A record on disk: `crc32 u32 | length u32 | type u8 | payload`, little-endian. The length counts
 * type and payload, so it is never 0 and zeros never look like a record. The checksum comes first
 * so that one pass covers the length too.
 */
export const framingBytes = 9;

/**
 * The checksum starts from the segment's random salt and the record's own offset. So bytes of
 * another segment, at another offset, or inside a payload that imitates a record are not a record.
 */
function checksum(buffer: Buffer, start: number, end: number, salt: number, offset: number): number {
  return crc32(buffer.subarray(start + 4, end), (salt ^ offset) >>> 0);
}

/**
 * Completes the frame of a record whose payload is already at `start + framingBytes`; `offset` is
 * its position in the segment.
 */
export function frame(
  buffer: Buffer,
  start: number,
  bytes: number,
  type: RecordType,
  salt: number,
  offset: number,
): void {
  buffer.writeUInt32LE(bytes - 8, start + 4);
  buffer[start + 8] = type;
  buffer.writeUInt32LE(checksum(buffer, start, start + bytes, salt, offset), start);
}

/**
 * The bytes of the valid record at `offset` of a whole segment, its frame included; 0 when there is
 * none.
 */
export function recordBytesAt(segment: Buffer, offset: number, salt: number): number {
  if (offset + framingBytes > segment.length) return 0;
  const length = segment.readUInt32LE(offset + 4);
  const end = offset + 8 + length;
  if (length === 0 || end > segment.length) return 0;
  return segment.readUInt32LE(offset) === checksum(segment, offset, end, salt, offset) ? end - offset : 0;
}
