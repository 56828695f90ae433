import { exp, log } from './arithmetic.ts';
import { type Attention, attentionScratch, cleared, createAttention, headWidth, rotate } from './attention.ts';
import type { Kernel, Matrix } from './kernel.ts';
import { type Layer, type Model, normEpsilon, rotaryTable, transposeAll, type Weight } from './model.ts';

/** One sequence to learn from: `tokens`, and for each of them how much predicting it weighs; 0 is not at all. */
export interface Example {
  readonly tokens: readonly number[];
  readonly weights: readonly number[];
}

/** A token to predict from a row of the batch, with its share of the batch's loss. */
interface Target {
  readonly row: number;
  readonly token: number;
  readonly share: number;
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
    stream: wide(), normed: wide(), query: wide(), key: wide(), value: wide(), mixed: wide(),
    gate: deep(), up: deep(), gated: deep(), sigmoid: deep(), attention: createAttention(kernel, attentionShape, scratch),
  }));
  const last = { stream: wide(), normed: wide() };
  const change = {
    stream: wide(), normed: wide(), query: wide(), key: wide(), value: wide(), mixed: wide(),
    gate: deep(), up: deep(), gated: deep(),
  };
  const logits = kernel.matrix(rows, shape.vocabulary);
  const chosen = { normed: wide(), change: wide() };
  const table = rotaryTable(length, headWidth);
  const optimiser = createOptimiser(model.all);

  const layerForward = (layer: Layer, k: Kept, next: Matrix): void => {
    normalise(k.stream, layer.norm, k.normed);
    for (const [weight, out] of [[layer.query, k.query], [layer.key, k.key], [layer.value, k.value], [layer.gate, k.gate], [layer.up, k.up]] as const) {
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
    for (const [weight, part] of [[layer.query, change.query], [layer.key, change.key], [layer.value, change.value], [layer.gate, change.gate], [layer.up, change.up]] as const) {
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
    tokens.map((token, at) => ({ row: index * length + at - 1, token, weight: at === 0 ? 0 : (weights[at] ?? 0) })),
  );
  const total = all.reduce((sum, { weight }) => sum + weight, 0);
  return all.flatMap(({ row, token, weight }) => (weight === 0 ? [] : [{ row, token, share: weight / total }]));
}

function copyRow(from: Matrix, fromRow: number, to: Matrix, toRow: number): void {
  to.data.set(from.data.subarray(fromRow * from.columns, (fromRow + 1) * from.columns), toRow * to.columns);
}

/** Turns logits into their gradient in place; returns the loss. */
function crossEntropy({ data, columns }: Matrix, targets: readonly Target[]): number {
  let loss = 0;
  targets.forEach(({ token, share }, row) => {
    const base = row * columns;
    let largest = Number.NEGATIVE_INFINITY;
    for (let at = base; at < base + columns; at++) largest = Math.max(largest, data[at] ?? 0);
    let sum = 0;
    for (let at = base; at < base + columns; at++) {
      const value = exp((data[at] ?? 0) - largest);
      data[at] = value;
      sum += value;
    }
    loss -= share * log(Math.max((data[base + token] ?? 0) / sum, 1e-30));
    for (let at = base; at < base + columns; at++) data[at] = ((data[at] ?? 0) / sum) * share;
    data[base + token] = (data[base + token] ?? 0) - share;
  });
  return loss;
}

function addEmbeddingGradient({ data, columns }: Matrix, tokens: readonly number[], change: Matrix): void {
  tokens.forEach((token, row) => {
    for (let at = 0; at < change.columns; at++) {
      data[at * columns + token] = (data[at * columns + token] ?? 0) + (change.data[row * change.columns + at] ?? 0);
    }
  });
}

/** LayerNorm without a bias: each row less its mean, over its deviation, times the weight. */
function normalise(x: Matrix, weight: Weight, out: Matrix): void {
  const { columns } = x;
  for (let row = 0; row < x.rows; row++) {
    const base = row * columns;
    const { mean, inverse } = momentsOf(x.data, base, columns);
    for (let at = 0; at < columns; at++) {
      out.data[base + at] = ((x.data[base + at] ?? 0) - mean) * inverse * (weight.forward.data[at] ?? 0);
    }
  }
}

/** Adds to `into` the gradient of the input of `normalise`, and to the weight's gradient its own. */
function normaliseBackward(x: Matrix, weight: Weight, change: Matrix, into: Matrix): void {
  const { columns } = x;
  for (let row = 0; row < x.rows; row++) {
    const base = row * columns;
    const { mean, inverse } = momentsOf(x.data, base, columns);
    let sum = 0;
    let along = 0;
    for (let at = 0; at < columns; at++) {
      const unit = ((x.data[base + at] ?? 0) - mean) * inverse;
      const incoming = change.data[base + at] ?? 0;
      weight.gradient.data[at] = (weight.gradient.data[at] ?? 0) + incoming * unit;
      sum += incoming * (weight.forward.data[at] ?? 0);
      along += incoming * (weight.forward.data[at] ?? 0) * unit;
    }
    for (let at = 0; at < columns; at++) {
      const unit = ((x.data[base + at] ?? 0) - mean) * inverse;
      const incoming = (change.data[base + at] ?? 0) * (weight.forward.data[at] ?? 0);
      into.data[base + at] = (into.data[base + at] ?? 0) + (incoming - sum / columns - (unit * along) / columns) * inverse;
    }
  }
}

function momentsOf(data: Float32Array, base: number, columns: number): { readonly mean: number; readonly inverse: number } {
  let mean = 0;
  for (let at = base; at < base + columns; at++) mean += data[at] ?? 0;
  mean /= columns;
  let variance = 0;
  for (let at = base; at < base + columns; at++) variance += ((data[at] ?? 0) - mean) ** 2;
  return { mean, inverse: 1 / Math.sqrt(variance / columns + normEpsilon) };
}

/** `gated = silu(gate) · up`. */
function gateForward({ gate, up, gated, sigmoid }: Pick<Kept, 'gate' | 'up' | 'gated' | 'sigmoid'>): void {
  for (let at = 0; at < gated.data.length; at++) {
    const g = gate.data[at] ?? 0;
    const share = 1 / (1 + exp(-g));
    sigmoid.data[at] = share;
    gated.data[at] = g * share * (up.data[at] ?? 0);
  }
}

function gateBackward(kept: Pick<Kept, 'gate' | 'up' | 'sigmoid'>, change: Pick<Kept, 'gate' | 'up' | 'gated'>): void {
  for (let at = 0; at < change.gated.data.length; at++) {
    const g = kept.gate.data[at] ?? 0;
    const incoming = change.gated.data[at] ?? 0;
    const share = kept.sigmoid.data[at] ?? 0;
    change.up.data[at] = incoming * g * share;
    change.gate.data[at] = incoming * (kept.up.data[at] ?? 0) * share * (1 + g * (1 - share));
  }
}

/** Adam, with a little decay of the matrices; each call is one step at the given rate. */
function createOptimiser(weights: readonly Weight[]): (rate: number) => void {
  const [keepMean, keepSquare, decay] = [0.9, 0.98, 0.02];
  const state = weights.map(({ forward }) => ({
    mean: new Float32Array(forward.data.length),
    square: new Float32Array(forward.data.length),
  }));
  let [meanPower, squarePower] = [1, 1];
  return (rate) => {
    meanPower *= keepMean;
    squarePower *= keepSquare;
    weights.forEach(({ forward, gradient }, index) => {
      const { mean, square } = state[index] ?? { mean: new Float32Array(0), square: new Float32Array(0) };
      const shrink = forward.rows === 1 ? 1 : 1 - rate * decay;
      for (let at = 0; at < mean.length; at++) {
        const g = gradient.data[at] ?? 0;
        const m = keepMean * (mean[at] ?? 0) + (1 - keepMean) * g;
        const s = keepSquare * (square[at] ?? 0) + (1 - keepSquare) * g * g;
        mean[at] = m;
        square[at] = s;
        const step = m / (1 - meanPower) / (Math.sqrt(s / (1 - squarePower)) + 1e-8);
        forward.data[at] = (forward.data[at] ?? 0) * shrink - rate * step;
      }
    });
  };
}
