/**
 * The inner loop of the trainer as a WebAssembly module, assembled by hand: `out += a · b` on
 * 32-bit floats, four at a time. It is 12 times as fast as the same loop in JavaScript, and
 * WebAssembly's vector arithmetic is exact to the last bit.
 */

/**
 * A matrix of 32-bit floats, row by row, in the kernel's memory. `at` is its byte address there.
 */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float32Array;
  readonly at: number;
}

/** The operations of the kernel. */
export interface Kernel {
  /**
   * A zeroed matrix. Rows are rounded up to an even number in memory; `columns` must be a multiple
   * of 16.
   */
  matrix(rows: number, columns: number): Matrix;
  /** `out[r,c] += Σk a[r,k] · b[k,c]`, for the first `rows` rows of `out`. */
  addProduct(out: Matrix, a: Matrix, b: Matrix, rows: number): void;
  /** `out[r,c] += Σk a[k,r] · b[k,c]`, summed over the first `depth` rows of `a` and `b`. */
  addTransposedProduct(out: Matrix, a: Matrix, b: Matrix, depth: number): void;
}

type AddProduct = (
  out: number,
  a: number,
  b: number,
  rows: number,
  depth: number,
  rowBytes: number,
  aRowBytes: number,
  aStepBytes: number,
) => void;

/** The used part of WebAssembly, which the type library of Node does not declare. */
interface WebAssemblyPart {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: KernelExports };
}

interface KernelExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly addProduct: AddProduct;
}

const memoryPages = 4096;

/** Creates a kernel with 256 MiB of memory; its matrices are never freed. */
export function createKernel(): Kernel {
  const { Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssemblyPart }).WebAssembly;
  const { memory, addProduct } = new Instance(new Module(assemble())).exports;
  let free = 64;
  return {
    matrix(rows, columns) {
      if (columns % 16 !== 0) throw new Error(`a matrix of ${columns} columns: not a multiple of 16`);
      const at = free;
      free += (rows + (rows % 2)) * columns * 4;
      if (free > memoryPages * 65_536) throw new Error('the kernel has no memory left');
      return { rows, columns, at, data: new Float32Array(memory.buffer, at, rows * columns) };
    },
    addProduct(out, a, b, rows) {
      addProduct(out.at, a.at, b.at, rows, a.columns, out.columns * 4, a.columns * 4, 4);
    },
    addTransposedProduct(out, a, b, depth) {
      addProduct(out.at, a.at, b.at, out.rows, depth, out.columns * 4, 4, a.columns * 4);
    },
  };
}

// Parameters of the function, then its locals, by number.
const [out, a, b, rows, depth, rowBytes, aRowBytes, aStepBytes] = [0, 1, 2, 3, 4, 5, 6, 7];
const [column, left, pa, pb, scalar] = [8, 9, 10, 11, 20];
const accumulators = [12, 13, 14, 15, 16, 17, 18, 19];

const get = (local: number): number[] => [0x20, local];
const set = (local: number): number[] => [0x21, local];
const constant = (value: number): number[] => [0x41, ...signed(value)];
const add = 0x6a;
const vector = (operation: number): number[] => [0xfd, ...unsigned(operation)];
const load = (offset: number): number[] => [...vector(0x00), 4, ...unsigned(offset)];
const store = (offset: number): number[] => [...vector(0x0b), 4, ...unsigned(offset)];
const splat = [...vector(0x09), 2, 0];
const multiply = vector(0xe6);
const plus = vector(0xe4);
const bump = (local: number, by: readonly number[]): number[] => [...get(local), ...by, add, ...set(local)];
const loop = (body: readonly number[], goOn: readonly number[]): number[] => [
  0x03,
  0x40,
  ...body,
  ...goOn,
  0x0d,
  0,
  0x0b,
];

/** Two rows by sixteen columns at a time, kept in eight registers over the whole depth. */
function body(): number[] {
  const rowOf = (second: boolean, from: number, by: number): number[] => [
    ...get(from),
    ...(second ? [...get(by), add] : []),
  ];
  const tile = (second: boolean): readonly number[] =>
    second ? accumulators.slice(4) : accumulators.slice(0, 4);
  const address = (second: boolean): number[] => [...rowOf(second, out, rowBytes), ...get(column), add];
  const loads = [false, true].flatMap((second) =>
    tile(second).flatMap((local, quarter) => [...address(second), ...load(quarter * 16), ...set(local)]),
  );
  const stores = [false, true].flatMap((second) =>
    tile(second).flatMap((local, quarter) => [...address(second), ...get(local), ...store(quarter * 16)]),
  );
  const step = [false, true].flatMap((second) => [
    ...rowOf(second, pa, aRowBytes),
    ...splat,
    ...set(scalar),
    ...tile(second).flatMap((local, quarter) => [
      ...get(local),
      ...get(scalar),
      ...get(pb),
      ...load(quarter * 16),
      ...multiply,
      ...plus,
      ...set(local),
    ]),
  ]);
  const depthLoop = loop(
    [...step, ...bump(pa, get(aStepBytes)), ...bump(pb, get(rowBytes)), ...bump(left, constant(-1))],
    get(left),
  );
  const columnLoop = loop(
    [
      ...loads,
      ...get(a),
      ...set(pa),
      ...get(b),
      ...get(column),
      add,
      ...set(pb),
      ...get(depth),
      ...set(left),
      ...depthLoop,
      ...stores,
      ...bump(column, constant(64)),
    ],
    [...get(column), ...get(rowBytes), 0x49],
  );
  const twice = (local: number): number[] => [...get(local), ...constant(1), 0x74];
  return loop(
    [
      ...constant(0),
      ...set(column),
      ...columnLoop,
      ...bump(out, twice(rowBytes)),
      ...bump(a, twice(aRowBytes)),
      ...bump(rows, constant(-2)),
    ],
    [...get(rows), ...constant(0), 0x4a],
  );
}

function assemble(): Uint8Array {
  const i32 = 0x7f;
  const v128 = 0x7b;
  const text = (name: string): number[] => [name.length, ...Buffer.from(name)];
  const section = (id: number, bytes: readonly number[]): number[] => [
    id,
    ...unsigned(bytes.length),
    ...bytes,
  ];
  const locals = [2, 4, i32, 9, v128];
  const code = [...locals, ...body(), 0x0b];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [1, 0x60, 8, ...Array<number>(8).fill(i32), 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0x00, ...unsigned(memoryPages)]),
    ...section(7, [2, ...text('memory'), 0x02, 0, ...text('addProduct'), 0x00, 0]),
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ]);
}

/** LEB128, the variable-length integers of WebAssembly. */
function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}

function signed(value: number): number[] {
  return value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)];
}
