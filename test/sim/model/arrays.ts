const epochShiftMs = Date.UTC(2000, 0, 1);
const dayMs = 86_400_000;

/**
 * Decodes an array of PostgreSQL's binary format, or accepts an array that the client would have
 * encoded as text.
 */
export function arrayOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (!Buffer.isBuffer(value)) throw new Error(`${String(value)} is no array`);
  const oid = value.readInt32BE(8);
  const count = value.readInt32BE(12);
  const cells: unknown[] = [];
  let at = 20;
  for (let n = 0; n < count; n += 1) {
    const length = value.readInt32BE(at);
    at += 4;
    cells.push(length < 0 ? null : cellOf(oid, value.subarray(at, at + length)));
    at += Math.max(0, length);
  }
  return cells;
}

/** The same, of numbers. */
export function numbersOf(value: unknown): readonly number[] {
  return arrayOf(value).map(Number);
}

/** The same, of money. */
export function amountsOf(value: unknown): readonly bigint[] {
  return arrayOf(value).map((cell) => BigInt(cell as bigint));
}

function cellOf(oid: number, bytes: Buffer): unknown {
  switch (oid) {
    case 17:
      return bytes;
    case 20:
      return bytes.readBigInt64BE();
    case 23:
      return bytes.readInt32BE();
    case 25:
      return bytes.toString('utf8');
    case 1082:
      return new Date(epochShiftMs + bytes.readInt32BE() * dayMs).toISOString().slice(0, 10);
    case 1184:
      return Number(bytes.readBigInt64BE() / 1000n) + epochShiftMs;
    case 2950:
      return bytes.toString('hex');
    default:
      throw new Error(`no arrays of type ${oid}`);
  }
}
