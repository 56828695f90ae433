import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, readSync } from 'node:fs';

const partBytes = 262_144;

/**
 * Reads a text file. Throws the file system's errors, `EFBIG` above `maxBytes`, because a device
 * such as `/dev/zero` is endless, and `EILSEQ` where it is not UTF-8.
 */
export function readText(path: string, maxBytes: number): string {
  const file = openSync(path, 'r');
  try {
    const parts: Buffer[] = [];
    for (let bytes = 0; ; ) {
      const part = Buffer.allocUnsafe(partBytes);
      const read = readSync(file, part);
      if (read === 0) return decoded(Buffer.concat(parts));
      bytes += read;
      if (bytes > maxBytes)
        throw Object.assign(new Error(`it has more than ${maxBytes} bytes`), { code: 'EFBIG' });
      parts.push(part.subarray(0, read));
    }
  } finally {
    closeSync(file);
  }
}

function decoded(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const lines = bytes.toString('latin1').split('\n');
  const line = 1 + lines.findIndex((each) => !isUtf8(Buffer.from(each, 'latin1')));
  throw Object.assign(new Error(`its line ${line} is not UTF-8: save the file in that encoding`), {
    code: 'EILSEQ',
  });
}
