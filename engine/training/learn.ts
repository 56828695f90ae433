import {
  type Attention,
  attentionScratch,
  cleared,
  createAttention,
  headWidth,
  rotate,
} from './attention.ts';
import type { Kernel, Matrix } from './kernel.ts';
import {
  crossEntropy,
  gateBackward,
  gateForward,
  normalise,
  normaliseBackward,
  type Target,
} from './layers.ts';
import { type Layer, type Model, rotaryTable, transposeAll } from './model.ts';
import { createOptimiser } from './optimiser.ts';

/** One sequence to learn from: `tokens`, and for each of them how much predicting it weighs; 0 is not at all. */
export interface Example {
  readonly tokens: readonly number[];
  readonly weights: readonly number[];
}

/** A trainer of one model on batches of a fixed size. */
export interface Learner {
  /** Learns from one batch at the given rate; returns its loss, the mean over the tokens that count, in nats. */
  step(batch: readonly Example[], rate: number): number;
}

/** What one layer keeps from `forward` for `backward`. */
interface Kept {
  readonly stream: Matrix;
  readonly normed: Matrix;
  readonly query: Matrix;
  readonly key: Matrix;
  readonly value: Matrix;
  readonly mixed: Matrix;
  readonly gate: Matrix;
  readonly up: Matrix;
  readonly gated: Matrix;
  readonly sigmoid: Matrix;
  readonly attention: Attention;
}

/** A learner for batches of `sequences` sequences of `length` tokens each (a multiple of 16). */
export function createLearner(kernel: Kernel, model: Model, sequences: number, length: number): Learner {
  const { shape } = model;
  const rows = sequences * length;
  const wide = (): Matrix => kernel.matrix(rows, shape.width);
  const deep = (): Matrix => kernel.matrix(rows, shape.feedForward);
  const scratch = attentionScratch(kernel, length);
  const attentionShape = { sequences, length, heads: shape.width / headWidth, window: shape.window };
  const kept: readonly Kept[] = model.layers.map(() => ({
    stream: wide(),
    normed: wide(),
    query: wide(),
    key: wide(),
    value: wide(),
    mixed: wide(),
    gate: deep(),
    up: deep(),
    gated: deep(),
    sigmoid: deep(),
    attention: createAttention(kernel, attentionShape, scratch),
  }));
  const last = { stream: wide(), normed: wide() };
  const change = {
    stream: wide(),
    normed: wide(),
    query: wide(),
    key: wide(),
    value: wide(),
    mixed: wide(),
    gate: deep(),
    up: deep(),
    gated: deep(),
  };
  const logits = kernel.matrix(rows, shape.vocabulary);
  const chosen = { normed: wide(), change: wide() };
  const table = rotaryTable(length, headWidth);
  const optimiser = createOptimiser(model.all);

  const layerForward = (layer: Layer, k: Kept, next: Matrix): void => {
    normalise(k.stream, layer.norm, k.normed);
    for (const [weight, out] of [
      [layer.query, k.query],
      [layer.key, k.key],
      [layer.value, k.value],
      [layer.gate, k.gate],
      [layer.up, k.up],
    ] as const) {
      kernel.addProduct(cleared(out), k.normed, weight.forward, rows);
    }
    rotate(k.query, length, table, 1);
    rotate(k.key, length, table, 1);
    k.attention.forward(k.query, k.key, k.value, k.mixed);
    gateForward(k);
    next.data.set(k.stream.data);
    kernel.addProduct(next, k.mixed, layer.attentionOut.forward, rows);
    kernel.addProduct(next, k.gated, layer.down.forward, rows);
  };

  /** Reads and replaces `change.stream`. */
  const layerBackward = (layer: Layer, k: Kept): void => {
    kernel.addTransposedProduct(layer.down.gradient, k.gated, change.stream, rows);
    kernel.addProduct(cleared(change.gated), change.stream, layer.down.backward, rows);
    kernel.addTransposedProduct(layer.attentionOut.gradient, k.mixed, change.stream, rows);
    kernel.addProduct(cleared(change.mixed), change.stream, layer.attentionOut.backward, rows);
    gateBackward(k, change);
    k.attention.backward([k.query, k.key, k.value], change.mixed, [change.query, change.key, change.value]);
    rotate(change.query, length, table, -1);
    rotate(change.key, length, table, -1);
    cleared(change.normed);
    for (const [weight, part] of [
      [layer.query, change.query],
      [layer.key, change.key],
      [layer.value, change.value],
      [layer.gate, change.gate],
      [layer.up, change.up],
    ] as const) {
      kernel.addTransposedProduct(weight.gradient, k.normed, part, rows);
      kernel.addProduct(change.normed, part, weight.backward, rows);
    }
    normaliseBackward(k.stream, layer.norm, change.normed, change.stream);
  };

  return {
    step(batch, rate) {
      const tokens = batch.flatMap((example) => example.tokens);
      const targets = targetsOf(batch, length);
      const streams = [...kept.map((k) => k.stream), last.stream];
      const [first = last.stream] = streams;
      tokens.forEach((token, row) => copyRow(model.embedding.backward, token, first, row));
      model.layers.forEach((layer, index) => {
        layerForward(layer, kept[index] as Kept, streams[index + 1] ?? last.stream);
      });
      normalise(last.stream, model.outputNorm, last.normed);

      targets.forEach(({ row }, index) => copyRow(last.normed, row, chosen.normed, index));
      logits.data.fill(0, 0, targets.length * shape.vocabulary);
      kernel.addProduct(logits, chosen.normed, model.embedding.forward, targets.length);
      const loss = crossEntropy(logits, targets);

      for (const { gradient } of model.all) cleared(gradient);
      kernel.addTransposedProduct(model.embedding.gradient, chosen.normed, logits, targets.length);
      kernel.addProduct(cleared(chosen.change), logits, model.embedding.backward, targets.length);
      cleared(change.normed);
      targets.forEach(({ row }, index) => copyRow(chosen.change, index, change.normed, row));
      normaliseBackward(last.stream, model.outputNorm, change.normed, cleared(change.stream));
      for (let index = model.layers.length - 1; index >= 0; index--) {
        layerBackward(model.layers[index] as Layer, kept[index] as Kept);
      }
      addEmbeddingGradient(model.embedding.gradient, tokens, change.stream);
      optimiser(rate);
      transposeAll(model);
      return loss;
    },
  };
}

/** What the batch asks to be predicted; the shares add up to 1. */
function targetsOf(batch: readonly Example[], length: number): readonly Target[] {
  const all = batch.flatMap(({ tokens, weights }, index) =>
    tokens.map((token, at) => ({
      row: index * length + at - 1,
      token,
      weight: at === 0 ? 0 : (weights[at] ?? 0),
    })),
  );
  const total = all.reduce((sum, { weight }) => sum + weight, 0);
  return all.flatMap(({ row, token, weight }) =>
    weight === 0 ? [] : [{ row, token, share: weight / total }],
  );
}

function copyRow(from: Matrix, fromRow: number, to: Matrix, toRow: number): void {
  to.data.set(from.data.subarray(fromRow * from.columns, (fromRow + 1) * from.columns), toRow * to.columns);
}

function addEmbeddingGradient({ data, columns }: Matrix, tokens: readonly number[], change: Matrix): void {
  tokens.forEach((token, row) => {
    for (let at = 0; at < change.columns; at++) {
      data[at * columns + token] =
        (data[at * columns + token] ?? 0) + (change.data[row * change.columns + at] ?? 0);
    }
  });
}
