import { type AttentionScratch, cleared, createAttention, headWidth, rotate } from './attention.ts';
import type { Kernel, Matrix } from './kernel.ts';
import { gateBackward, gateForward, normalise, normaliseBackward } from './layers.ts';
import type { Layer, Shape, Weight } from './model.ts';

/**
 * What all layers share in a pass over a batch: its size, the rotary table, and the memory of one
 * backward pass.
 */
export interface BatchMemory {
  readonly sequences: number;
  readonly length: number;
  readonly rotary: Float64Array;
  readonly scratch: AttentionScratch;
  readonly change: Parts;
}

/** One layer on a batch. */
export interface LayerPass {
  /** The input; write it before `forward`. */
  readonly stream: Matrix;
  /** Writes the output to `next`. */
  forward(next: Matrix): void;
  /**
   * Converts `change` from the gradient of the output to that of the input, and adds to the
   * gradients of the weights.
   */
  backward(change: Matrix): void;
}

/** The matrices inside a layer, or their gradients. */
interface Parts {
  readonly normed: Matrix;
  readonly query: Matrix;
  readonly key: Matrix;
  readonly value: Matrix;
  readonly mixed: Matrix;
  readonly gate: Matrix;
  readonly up: Matrix;
  readonly gated: Matrix;
}

/** Memory for the matrices inside one layer, for `rows` tokens. */
export function partsFor(kernel: Kernel, { width, feedForward }: Shape, rows: number): Parts {
  const wide = (): Matrix => kernel.matrix(rows, width);
  const deep = (): Matrix => kernel.matrix(rows, feedForward);
  const attention = { normed: wide(), query: wide(), key: wide(), value: wide(), mixed: wide() };
  return { ...attention, gate: deep(), up: deep(), gated: deep() };
}

/** A pass through `layer` for batches of the size of `memory`. */
export function createLayerPass(kernel: Kernel, layer: Layer, shape: Shape, memory: BatchMemory): LayerPass {
  const { sequences, length, rotary, scratch, change: inside } = memory;
  const rows = sequences * length;
  const parts = partsFor(kernel, shape, rows);
  const stream = kernel.matrix(rows, shape.width);
  const sigmoid = kernel.matrix(rows, shape.feedForward);
  const heads = shape.width / headWidth;
  const attention = createAttention(kernel, { sequences, length, heads, window: shape.window }, scratch);
  const entrances = ['query', 'key', 'value', 'gate', 'up'] as const;
  const wayIn = (weight: Weight, from: Matrix, to: Matrix): void =>
    kernel.addProduct(to, from, weight.forward, rows);
  const wayBack = (weight: Weight, from: Matrix, to: Matrix, change: Matrix): void => {
    kernel.addTransposedProduct(weight.gradient, from, change, rows);
    kernel.addProduct(to, change, weight.backward, rows);
  };
  return {
    stream,
    forward(next) {
      normalise(stream, layer.norm, parts.normed);
      for (const name of entrances) wayIn(layer[name], parts.normed, cleared(parts[name]));
      rotate(parts.query, length, rotary, 1);
      rotate(parts.key, length, rotary, 1);
      attention.forward(parts.query, parts.key, parts.value, parts.mixed);
      gateForward({ ...parts, sigmoid });
      next.data.set(stream.data);
      wayIn(layer.attentionOut, parts.mixed, next);
      wayIn(layer.down, parts.gated, next);
    },
    backward(change) {
      wayBack(layer.down, parts.gated, cleared(inside.gated), change);
      wayBack(layer.attentionOut, parts.mixed, cleared(inside.mixed), change);
      gateBackward({ ...parts, sigmoid }, inside);
      attention.backward(parts, inside.mixed, inside);
      rotate(inside.query, length, rotary, -1);
      rotate(inside.key, length, rotary, -1);
      cleared(inside.normed);
      for (const name of entrances) wayBack(layer[name], parts.normed, inside.normed, inside[name]);
      normaliseBackward(stream, layer.norm, inside.normed, change);
    },
  };
}
