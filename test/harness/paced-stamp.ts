/**
 * Chunks that say when they were written, so that their reader knows how long they were on the way:
 * their content is `@` with 16 digits, the microseconds of the clock that all processes of a machine
 * share.
 */

export const PACED_CHUNKS = 100;
export const PACED_EVERY_MS = 20;

const digits = 16;
/** A content in whose place `writeStamp` puts the time. */
export const stamp = `@${'0'.repeat(digits)}`;

/** The microseconds of the clock that all processes of a machine share. */
export function machineUs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + nanoseconds / 1e3;
}

/** Puts the time in the place of the stamp. */
export function writeStamp(chunk: Buffer): Buffer {
  chunk.write(
    Math.floor(machineUs()).toString().padStart(digits, '0'),
    chunk.indexOf(stamp[0] as string) + 1,
    'latin1',
  );
  return chunk;
}

/**
 * Calls `found` with the time of each complete stamp; returns where the bytes begin that belong to
 * an incomplete one.
 */
export function readStamps(bytes: Buffer, found: (us: number) => void): number {
  for (let at = 0; ; ) {
    const next = bytes.indexOf(0x40, at);
    if (next === -1) return bytes.length;
    if (next + digits >= bytes.length) return next;
    let us = 0;
    for (let n = 1; n <= digits; n += 1) us = us * 10 + (bytes[next + n] as number) - 48;
    found(us);
    at = next + digits;
  }
}
