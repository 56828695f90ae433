import { exp } from './arithmetic.ts';
import type { Kernel, Matrix } from './kernel.ts';

/**
 * The size of a head: the width that the kernel processes at once, so that a head is a separate
 * matrix.
 */
export const headWidth = 16;

/**
 * The size of an attention: `sequences` sequences of `length` rows; a row attends to `window` rows,
 * including itself.
 */
export interface AttentionShape {
  readonly sequences: number;
  readonly length: number;
  readonly heads: number;
  readonly window: number;
}

/** The inputs of an attention, or their gradients. */
export interface AttentionInputs {
  readonly query: Matrix;
  readonly key: Matrix;
  readonly value: Matrix;
}

/** Attention over a batch. It keeps the probabilities of its last `forward` for `backward`. */
export interface Attention {
  /** Writes the mixed values of `query`, `key` and `value` into `out`. */
  forward(query: Matrix, key: Matrix, value: Matrix, out: Matrix): void;
  /** Writes the gradients of the inputs from `outGradient`, that of `out`. */
  backward(inputs: AttentionInputs, outGradient: Matrix, gradients: AttentionInputs): void;
}

/**
 * Scratch memory that the attentions of all layers share, for one head of one sequence at a time.
 */
export interface AttentionScratch {
  readonly rows: Readonly<Record<'query' | 'key' | 'value' | 'out' | 'changeIn' | 'changeOut', Matrix>>;
  readonly turned: Matrix;
  readonly change: Matrix;
}

/** Scratch memory for sequences of `length` rows, a multiple of 16. */
export function attentionScratch(kernel: Kernel, length: number): AttentionScratch {
  const head = (): Matrix => kernel.matrix(length, headWidth);
  return {
    rows: { query: head(), key: head(), value: head(), out: head(), changeIn: head(), changeOut: head() },
    turned: kernel.matrix(headWidth, length),
    change: kernel.matrix(length, length),
  };
}

/** An attention that multiplies on `kernel`. */
export function createAttention(kernel: Kernel, shape: AttentionShape, scratch: AttentionScratch): Attention {
  const { sequences, length, heads, window } = shape;
  const { rows, turned, change } = scratch;
  const probabilities = Array.from({ length: sequences * heads }, () => kernel.matrix(length, length));
  const scale = 1 / Math.sqrt(headWidth);
  const eachHead = (
    work: (
      kept: Matrix,
      cut: (from: Matrix, to: Matrix) => void,
      paste: (from: Matrix, to: Matrix) => void,
    ) => void,
  ): void => {
    probabilities.forEach((kept, index) => {
      const firstRow = Math.floor(index / heads) * length;
      const firstColumn = (index % heads) * headWidth;
      work(
        kept,
        (from, to) => copyHead(from, firstRow, firstColumn, to, false),
        (from, to) => copyHead(to, firstRow, firstColumn, from, true),
      );
    });
  };
  return {
    forward(query, key, value, out) {
      eachHead((kept, cut, paste) => {
        cut(query, rows.query);
        cut(key, rows.key);
        cut(value, rows.value);
        transpose(rows.key, turned);
        kernel.addProduct(cleared(kept), rows.query, turned, length);
        softmax(kept, window, scale);
        kernel.addProduct(cleared(rows.out), kept, rows.value, length);
        paste(rows.out, out);
      });
    },
    backward({ query, key, value }, outGradient, gradients) {
      eachHead((kept, cut, paste) => {
        cut(query, rows.query);
        cut(key, rows.key);
        cut(value, rows.value);
        cut(outGradient, rows.changeIn);
        kernel.addTransposedProduct(cleared(rows.changeOut), kept, rows.changeIn, length);
        paste(rows.changeOut, gradients.value);
        transpose(rows.value, turned);
        kernel.addProduct(cleared(change), rows.changeIn, turned, length);
        softmaxGradient(kept, change, window, scale);
        kernel.addProduct(cleared(rows.changeOut), change, rows.key, length);
        paste(rows.changeOut, gradients.query);
        kernel.addTransposedProduct(cleared(rows.changeOut), change, rows.query, length);
        paste(rows.changeOut, gradients.key);
      });
    },
  };
}

/**
 * Rotates each pair of numbers by its row's position in the sequence; `direction` −1 reverses it.
 */
export function rotate(x: Matrix, length: number, table: Float64Array, direction: 1 | -1): void {
  for (let row = 0; row < x.rows; row++) {
    const angles = (row % length) * headWidth;
    for (let column = 0; column < x.columns; column += 2) {
      const at = row * x.columns + column;
      const cosine = table[angles + (column % headWidth)] ?? 0;
      const sine = (table[angles + (column % headWidth) + 1] ?? 0) * direction;
      const left = x.data[at] ?? 0;
      const right = x.data[at + 1] ?? 0;
      x.data[at] = left * cosine - right * sine;
      x.data[at + 1] = left * sine + right * cosine;
    }
  }
}

/** The same matrix, set to zero. */
export function cleared(matrix: Matrix): Matrix {
  matrix.data.fill(0);
  return matrix;
}

/** Softmax of each row over the columns of its window; the others become 0. */
function softmax({ data, rows, columns }: Matrix, window: number, scale: number): void {
  for (let row = 0; row < rows; row++) {
    const base = row * columns;
    const first = Math.max(0, row - window + 1);
    let largest = Number.NEGATIVE_INFINITY;
    for (let at = base + first; at <= base + row; at++) largest = Math.max(largest, data[at] ?? 0);
    let sum = 0;
    for (let at = base + first; at <= base + row; at++) {
      const value = exp(((data[at] ?? 0) - largest) * scale);
      data[at] = value;
      sum += value;
    }
    for (let at = base + first; at <= base + row; at++) data[at] = (data[at] ?? 0) / sum;
    data.fill(0, base, base + first);
    data.fill(0, base + row + 1, base + columns);
  }
}

/** Converts `change` from the gradient of the probabilities to that of the scores. */
function softmaxGradient(probabilities: Matrix, change: Matrix, window: number, scale: number): void {
  const { data: p, rows, columns } = probabilities;
  const { data: d } = change;
  for (let row = 0; row < rows; row++) {
    const base = row * columns;
    const first = Math.max(0, row - window + 1);
    let mean = 0;
    for (let at = base + first; at <= base + row; at++) mean += (p[at] ?? 0) * (d[at] ?? 0);
    for (let at = base + first; at <= base + row; at++) d[at] = (p[at] ?? 0) * ((d[at] ?? 0) - mean) * scale;
    d.fill(0, base, base + first);
    d.fill(0, base + row + 1, base + columns);
  }
}

function copyHead(whole: Matrix, firstRow: number, firstColumn: number, head: Matrix, back: boolean): void {
  for (let row = 0; row < head.rows; row++) {
    const from = (firstRow + row) * whole.columns + firstColumn;
    const at = row * headWidth;
    if (back) whole.data.set(head.data.subarray(at, at + headWidth), from);
    else head.data.set(whole.data.subarray(from, from + headWidth), at);
  }
}

function transpose(from: Matrix, to: Matrix): void {
  for (let row = 0; row < from.rows; row++) {
    for (let column = 0; column < from.columns; column++) {
      to.data[column * to.columns + row] = from.data[row * from.columns + column] ?? 0;
    }
  }
}
