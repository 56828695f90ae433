/**
 * QR codes (ISO/IEC 18004) of short texts: bytes, error correction M, versions 1 to 10, which hold
 * 213 bytes. Drawn here, because a secret must not go to another site to become an image.
 */
const maxVersion = 10;
/** For each version, of error correction M. */
const eccPerBlock = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26];
const blockCounts = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5];

type Cells = boolean[][];

/** The modules of the code, row by row, true for dark; null when the text is too long. */
export function qrCode(text: string): readonly (readonly boolean[])[] | null {
  const bytes = new TextEncoder().encode(text);
  for (let version = 1; version <= maxVersion; version += 1) {
    const capacity = dataLength(version);
    const lengthBits = version < 10 ? 8 : 16;
    if (4 + lengthBits + bytes.length * 8 > capacity * 8) continue;
    return drawn(version, interleaved(version, padded(bytes, lengthBits, capacity)));
  }
  return null;
}

/** Modules for data and error correction, in bits. */
function rawBits(version: number): number {
  const alignments = version === 1 ? 0 : Math.floor(version / 7) + 2;
  const ofAlignment = version === 1 ? 0 : (25 * alignments - 10) * alignments - 55;
  return (16 * version + 128) * version + 64 - ofAlignment - (version >= 7 ? 36 : 0);
}

function dataLength(version: number): number {
  return Math.floor(rawBits(version) / 8) - (eccPerBlock[version - 1] ?? 0) * (blockCounts[version - 1] ?? 0);
}

/** The codewords of the data: mode, length, bytes, end, and the padding of the standard. */
function padded(bytes: Uint8Array, lengthBits: number, capacity: number): number[] {
  const bits = [
    '0100',
    bytes.length.toString(2).padStart(lengthBits, '0'),
    ...[...bytes].map((byte) => byte.toString(2).padStart(8, '0')),
  ].join('');
  const ended = bits + '0'.repeat(Math.min(4, capacity * 8 - bits.length));
  const whole = ended.padEnd(Math.ceil(ended.length / 8) * 8, '0');
  const codewords = (whole.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2));
  for (let pad = 0xec; codewords.length < capacity; pad ^= 0xec ^ 0x11) codewords.push(pad);
  return codewords;
}

/** Blocks with their error correction, codeword by codeword. */
function interleaved(version: number, data: readonly number[]): number[] {
  const blockCount = blockCounts[version - 1] ?? 1;
  const eccLength = eccPerBlock[version - 1] ?? 0;
  const total = Math.floor(rawBits(version) / 8);
  const shortCount = blockCount - (total % blockCount);
  const shortLength = Math.floor(total / blockCount) - eccLength;
  const divisor = generator(eccLength);
  let from = 0;
  const blocks = Array.from({ length: blockCount }, (_, index) => {
    const length = shortLength + (index < shortCount ? 0 : 1);
    const own = data.slice(from, from + length);
    from += length;
    return { own, ecc: remainder(own, divisor) };
  });
  const columns = (rows: readonly (readonly number[])[], length: number): number[] =>
    Array.from({ length }, (_, at) => rows.flatMap((row) => (row[at] === undefined ? [] : [row[at]]))).flat();
  return [
    ...columns(
      blocks.map(({ own }) => own),
      shortLength + 1,
    ),
    ...columns(
      blocks.map(({ ecc }) => ecc),
      eccLength,
    ),
  ];
}

/** The product of two elements of GF(256). */
function product(a: number, b: number): number {
  let result = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    result = (result << 1) ^ ((result >>> 7) * 0x11d);
    result ^= ((b >>> bit) & 1) * a;
  }
  return result;
}

/** The Reed-Solomon generator polynomial, without its leading one. */
function generator(degree: number): readonly number[] {
  const result: number[] = Array.from({ length: degree }, (_, at) => (at === degree - 1 ? 1 : 0));
  for (let round = 0, root = 1; round < degree; round += 1, root = product(root, 2))
    for (let at = 0; at < degree; at += 1)
      result[at] = product(result[at] ?? 0, root) ^ (result[at + 1] ?? 0);
  return result;
}

function remainder(data: readonly number[], divisor: readonly number[]): number[] {
  const result = divisor.map(() => 0);
  for (const byte of data) {
    const factor = byte ^ (result.shift() ?? 0);
    result.push(0);
    for (const [at, coefficient] of divisor.entries())
      result[at] = (result[at] ?? 0) ^ product(coefficient, factor);
  }
  return result;
}

/** The whole code, with the mask of the least penalty. */
function drawn(version: number, codewords: readonly number[]): Cells {
  const size = version * 4 + 17;
  const { cells, isFixed } = fixedPatterns(version, size);
  placeData(cells, isFixed, codewords);
  const masked = masks.map((isFlipped, mask) => {
    const copy = cells.map((row, y) =>
      row.map((isDark, x) => isDark !== (isFixed[y]?.[x] !== true && isFlipped(x, y))),
    );
    drawFormat(copy, mask);
    return copy;
  });
  return masked.reduce((best, one) => (penalty(one) < penalty(best) ? one : best));
}

const masks: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** Finders, timing, alignment and version; the places of the format are only kept free. */
function fixedPatterns(version: number, size: number): { cells: Cells; isFixed: Cells } {
  const empty = (): Cells => Array.from({ length: size }, () => Array.from({ length: size }, () => false));
  const cells = empty();
  const isFixed = empty();
  const set = (x: number, y: number, isDark: boolean): void => {
    const row = cells[y];
    const fixed = isFixed[y];
    if (row === undefined || fixed === undefined || x < 0 || x >= size) return;
    row[x] = isDark;
    fixed[x] = true;
  };
  const square = (cx: number, cy: number, radius: number, isDark: (ring: number) => boolean): void => {
    for (let dy = -radius; dy <= radius; dy += 1)
      for (let dx = -radius; dx <= radius; dx += 1)
        set(cx + dx, cy + dy, isDark(Math.max(Math.abs(dx), Math.abs(dy))));
  };
  for (let at = 0; at < size; at += 1) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  for (const [cx, cy] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    square(cx, cy, 4, (ring) => ring !== 2 && ring !== 4);
  const places = alignmentPlaces(version, size);
  const isFinder = (x: number, y: number): boolean =>
    (x === 6 && y === 6) || (x === 6 && y === size - 7) || (x === size - 7 && y === 6);
  for (const x of places) for (const y of places) if (!isFinder(x, y)) square(x, y, 2, (ring) => ring !== 1);
  for (const [x, y] of formatPlaces(size).flat()) set(x, y, false);
  set(8, size - 8, true);
  if (version >= 7) {
    const bits = version * 0x1000 + bch(version, 0x1f25, 12);
    for (let at = 0; at < 18; at += 1) {
      const isDark = ((bits >>> at) & 1) === 1;
      set(size - 11 + (at % 3), Math.floor(at / 3), isDark);
      set(Math.floor(at / 3), size - 11 + (at % 3), isDark);
    }
  }
  return { cells, isFixed };
}

function alignmentPlaces(version: number, size: number): readonly number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, at) => size - 7 - at * step).reverse()];
}

/** The two places of each of the 15 bits of the format, from the lowest bit. */
function formatPlaces(size: number): readonly (readonly (readonly [number, number])[])[] {
  return Array.from({ length: 15 }, (_, bit) => {
    const first: readonly [number, number] =
      bit < 6 ? [8, bit] : bit < 8 ? [8, bit + 1] : bit === 8 ? [7, 8] : [14 - bit, 8];
    const second: readonly [number, number] = bit < 8 ? [size - 1 - bit, 8] : [8, size - 15 + bit];
    return [first, second];
  });
}

/** The check bits of a BCH code. */
function bch(value: number, divisor: number, length: number): number {
  let rest = value;
  for (let bit = 0; bit < length; bit += 1) rest = (rest << 1) ^ ((rest >>> (length - 1)) * divisor);
  return rest;
}

/** Error correction M has the bits 00, so the format is the mask alone. */
function drawFormat(cells: Cells, mask: number): void {
  const bits = ((mask << 10) | bch(mask, 0x537, 10)) ^ 0x5412;
  for (const [bit, places] of formatPlaces(cells.length).entries())
    for (const [x, y] of places) {
      const row = cells[y];
      if (row !== undefined) row[x] = ((bits >>> bit) & 1) === 1;
    }
}

/** The bits in the zigzag of the standard: columns of two from the right, up and down in turn. */
function placeData(cells: Cells, isFixed: Cells, codewords: readonly number[]): void {
  const size = cells.length;
  let bit = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1)
      for (const x of [right, right - 1]) {
        const isUp = ((right + 1) & 2) === 0;
        const y = isUp ? size - 1 - step : step;
        const row = cells[y];
        if (row === undefined || isFixed[y]?.[x] === true || bit >= codewords.length * 8) continue;
        row[x] = (((codewords[bit >>> 3] ?? 0) >>> (7 - (bit & 7))) & 1) === 1;
        bit += 1;
      }
  }
}

/** How hard a code is to read: long runs and blocks of one colour. */
function penalty(cells: Cells): number {
  const size = cells.length;
  const at = (x: number, y: number): boolean => cells[y]?.[x] === true;
  let sum = 0;
  for (let a = 0; a < size; a += 1)
    for (const read of [(b: number) => at(a, b), (b: number) => at(b, a)])
      for (let b = 1, run = 1; b < size; b += 1) {
        run = read(b) === read(b - 1) ? run + 1 : 1;
        sum += run === 5 ? 3 : run > 5 ? 1 : 0;
      }
  for (let y = 1; y < size; y += 1)
    for (let x = 1; x < size; x += 1)
      if (at(x, y) === at(x - 1, y) && at(x, y) === at(x, y - 1) && at(x, y) === at(x - 1, y - 1)) sum += 3;
  return sum;
}
