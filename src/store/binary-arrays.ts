/**
 * PostgreSQL arrays in the binary parameter format. A settlement passes whole columns: encoded here they cost a tenth of what
 * the client's text arrays cost, and need no quoting.
 */
const epochShiftMs = Date.UTC(2000, 0, 1);
const epochShiftDays = epochShiftMs / 86_400_000;
const headerBytes = 20;

/** `int8[]`. */
export function int8Array(values: readonly bigint[]): Buffer {
  const buffer = fixed(values.length, 20, 8);
  values.forEach((value, index) => {
    buffer.writeBigInt64BE(value, headerBytes + 4 + index * 12);
  });
  return buffer;
}

/** `int8[]` of safe integers; null stays null. */
export function int8ArrayOfNumbers(values: readonly (number | null)[]): Buffer {
  const cells = values.map((value) => (value === null ? null : int8Cell(value)));
  return variable(20, cells);
}

/** `int4[]`. */
export function int4Array(values: readonly number[]): Buffer {
  const buffer = fixed(values.length, 23, 4);
  values.forEach((value, index) => {
    buffer.writeInt32BE(value, headerBytes + 4 + index * 8);
  });
  return buffer;
}

/** `timestamptz[]` from epoch milliseconds. */
export function timestampArray(epochMs: readonly number[]): Buffer {
  const buffer = fixed(epochMs.length, 1184, 8);
  epochMs.forEach((ms, index) => {
    buffer.writeBigInt64BE(BigInt(Math.round((ms - epochShiftMs) * 1000)), headerBytes + 4 + index * 12);
  });
  return buffer;
}

/** `date[]` from days since 1970-01-01. */
export function dateArray(days: readonly number[]): Buffer {
  const buffer = fixed(days.length, 1082, 4);
  days.forEach((day, index) => {
    buffer.writeInt32BE(day - epochShiftDays, headerBytes + 4 + index * 8);
  });
  return buffer;
}

/** `uuid[]` from 32 hex digits each. */
export function uuidArray(hexDigits: readonly string[]): Buffer {
  const buffer = fixed(hexDigits.length, 2950, 16);
  hexDigits.forEach((digits, index) => {
    buffer.write(digits, headerBytes + 4 + index * 20, 'hex');
  });
  return buffer;
}

/** `text[]`; null stays null. */
export function textArray(values: readonly (string | null)[]): Buffer {
  return variable(
    25,
    values.map((value) => (value === null ? null : Buffer.from(value, 'utf8'))),
  );
}

/** An array without nulls whose elements all have `size` bytes: header and element lengths are filled in. */
function fixed(count: number, elementOid: number, size: number): Buffer {
  const buffer = Buffer.allocUnsafe(headerBytes + count * (4 + size));
  writeHeader(buffer, count, elementOid, 0);
  for (let index = 0; index < count; index += 1) buffer.writeInt32BE(size, headerBytes + index * (4 + size));
  return buffer;
}

function variable(elementOid: number, cells: readonly (Buffer | null)[]): Buffer {
  const bytes = cells.reduce((sum, cell) => sum + 4 + (cell?.length ?? 0), headerBytes);
  const buffer = Buffer.allocUnsafe(bytes);
  writeHeader(buffer, cells.length, elementOid, cells.includes(null) ? 1 : 0);
  let offset = headerBytes;
  for (const cell of cells) {
    buffer.writeInt32BE(cell === null ? -1 : cell.length, offset);
    offset += 4;
    if (cell !== null) offset += cell.copy(buffer, offset);
  }
  return buffer;
}

/** One dimension, its null flag, the element type, the length, lower bound 1. */
function writeHeader(buffer: Buffer, count: number, elementOid: number, hasNull: number): void {
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(hasNull, 4);
  buffer.writeInt32BE(elementOid, 8);
  buffer.writeInt32BE(count, 12);
  buffer.writeInt32BE(1, 16);
}

function int8Cell(value: number): Buffer {
  const cell = Buffer.allocUnsafe(8);
  cell.writeBigInt64BE(BigInt(value));
  return cell;
}
