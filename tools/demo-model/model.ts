import { turn } from './arithmetic.ts';
import type { Kernel, Matrix } from './kernel.ts';

/**
 * The network: Cohere 2's architecture at a millionth of its size. Each layer adds attention and a
 * gated feed-forward network, both after one LayerNorm, to the residual stream; the output matrix
 * is the transposed embedding. It was chosen over Llama's for its sliding window: in each layer a
 * token attends only to the `window` tokens before it, so the end of a long conversation looks like
 * the training data.
 */
export interface Shape {
  readonly vocabulary: number;
  readonly width: number;
  readonly layers: number;
  readonly feedForward: number;
  readonly window: number;
}

/** The lowest rotary frequency is about the inverse of this. */
export const rotaryBase = 10_000;
/** The epsilon that LayerNorm adds to the variance. */
export const normEpsilon = 1e-5;

/**
 * A trained matrix: `forward` maps rows by `x · forward`, `backward` is its transpose, updated by
 * `transpose`.
 */
export interface Weight {
  readonly forward: Matrix;
  readonly backward: Matrix;
  readonly gradient: Matrix;
}

/** The weights of one layer. */
export interface Layer {
  readonly norm: Weight;
  readonly query: Weight;
  readonly key: Weight;
  readonly value: Weight;
  readonly attentionOut: Weight;
  readonly gate: Weight;
  readonly up: Weight;
  readonly down: Weight;
}

/**
 * All weights. `embedding.forward` is width × vocabulary (the output), `embedding.backward` the
 * table of the tokens.
 */
export interface Model {
  readonly shape: Shape;
  readonly embedding: Weight;
  readonly layers: readonly Layer[];
  readonly outputNorm: Weight;
  readonly all: readonly Weight[];
}

/**
 * A model with random weights from `random`, scaled so that each matrix preserves the variance of
 * its input.
 */
export function createModel(kernel: Kernel, shape: Shape, random: () => number): Model {
  const { width, feedForward, vocabulary } = shape;
  const all: Weight[] = [];
  const weight = (rows: number, columns: number, fill: () => number): Weight => {
    const made = {
      forward: kernel.matrix(rows, columns),
      backward: kernel.matrix(columns, rows % 16 === 0 ? rows : 16),
      gradient: kernel.matrix(rows, columns),
    };
    made.forward.data.forEach((_, at) => {
      made.forward.data[at] = fill();
    });
    all.push(made);
    return made;
  };
  const spread = (deviation: number) => () => (random() * 2 - 1) * deviation * Math.sqrt(3);
  const linear = (from: number, to: number, scale = 1): Weight =>
    weight(from, to, spread(scale / Math.sqrt(from)));
  const norm = (): Weight => weight(1, width, () => 1);
  const embedding = weight(width, vocabulary, spread(0.08));
  const layers = Array.from({ length: shape.layers }, () => ({
    norm: norm(),
    query: linear(width, width),
    key: linear(width, width),
    value: linear(width, width),
    attentionOut: linear(width, width, 0.4),
    gate: linear(width, feedForward),
    up: linear(width, feedForward),
    down: linear(feedForward, width, 0.4),
  }));
  const model = { shape, embedding, layers, outputNorm: norm(), all };
  transposeAll(model);
  return model;
}

/** Updates every `backward` from its `forward`. */
export function transposeAll(model: Model): void {
  for (const { forward, backward } of model.all) {
    if (forward.rows === 1) continue;
    const { rows, columns } = forward;
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        backward.data[column * rows + row] = forward.data[row * columns + column] ?? 0;
      }
    }
  }
}

/**
 * Cosines and sines of the rotary positions: for position p and pair j at `2 * (p * pairs + j)`.
 */
export function rotaryTable(positions: number, headWidth: number): Float64Array {
  const pairs = headWidth / 2;
  const table = new Float64Array(positions * pairs * 2);
  // The ratio of one frequency to the next, base^(-1/pairs), by square roots alone: pairs is a
  // power of two.
  let ratio = 1 / rotaryBase;
  for (let halvings = pairs; halvings > 1; halvings /= 2) ratio = Math.sqrt(ratio);
  for (let pair = 0, frequency = 1; pair < pairs; pair++, frequency *= ratio) {
    const [stepCosine, stepSine] = turn(frequency);
    let [cosine, sine] = [1, 0];
    for (let position = 0; position < positions; position++) {
      table[2 * (position * pairs + pair)] = cosine;
      table[2 * (position * pairs + pair) + 1] = sine;
      [cosine, sine] = [cosine * stepCosine - sine * stepSine, sine * stepCosine + cosine * stepSine];
    }
  }
  return table;
}
