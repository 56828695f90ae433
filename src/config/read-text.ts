import { closeSync, openSync, readSync } from 'node:fs';

const partBytes = 262_144;

/**
 * Reads a text file. Throws the file system's errors, and `EFBIG` above `maxConfigBytes`: a device
 * such as `/dev/zero` is endless.
 */
export function readText(path: string, maxBytes: number): string {
  const file = openSync(path, 'r');
  try {
    const parts: Buffer[] = [];
    for (let bytes = 0; ; ) {
      const part = Buffer.allocUnsafe(partBytes);
      const read = readSync(file, part);
      if (read === 0) return Buffer.concat(parts).toString('utf8');
      bytes += read;
      if (bytes > maxBytes)
        throw Object.assign(new Error(`it has more than ${maxBytes} bytes`), { code: 'EFBIG' });
      parts.push(part.subarray(0, read));
    }
  } finally {
    closeSync(file);
  }
}
