import { attentionScratch, cleared, headWidth } from './attention.ts';
import type { Kernel, Matrix } from './kernel.ts';
import { type BatchMemory, createLayerPass, partsFor } from './layer-pass.ts';
import { crossEntropy, normalise, normaliseBackward, type Target } from './layers.ts';
import { type Model, rotaryTable, transposeAll } from './model.ts';
import { createOptimiser } from './optimiser.ts';

/** One training sequence: `tokens`, and the weight of each one's prediction; 0 is none. */
export interface Example {
  readonly tokens: readonly number[];
  readonly weights: readonly number[];
}

/** A trainer of one model on batches of a fixed size. */
export interface Learner {
  /**
   * Trains on one batch at the given rate; returns its loss, the weighted mean over its tokens, in
   * nats.
   */
  step(batch: readonly Example[], rate: number): number;
}

/** A learner for batches of `sequences` sequences of `length` tokens each (a multiple of 16). */
export function createLearner(kernel: Kernel, model: Model, sequences: number, length: number): Learner {
  const { shape, embedding, outputNorm } = model;
  const rows = sequences * length;
  const memory: BatchMemory = {
    sequences,
    length,
    rotary: rotaryTable(length, headWidth),
    scratch: attentionScratch(kernel, length),
    change: partsFor(kernel, shape, rows),
  };
  const passes = model.layers.map((layer) => createLayerPass(kernel, layer, shape, memory));
  const [last, normed, change, normedChange, chosen, chosenChange] = Array.from({ length: 6 }, () =>
    kernel.matrix(rows, shape.width),
  ) as [Matrix, Matrix, Matrix, Matrix, Matrix, Matrix];
  const logits = kernel.matrix(rows, shape.vocabulary);
  const optimise = createOptimiser(model.all);

  const forward = (tokens: readonly number[]): void => {
    copyRows(embedding.backward, tokens, passes[0]?.stream ?? last);
    passes.forEach((pass, index) => {
      pass.forward(passes[index + 1]?.stream ?? last);
    });
    normalise(last, outputNorm, normed);
  };

  /** The loss; leaves the gradient of the layers' output in `change`. */
  const compare = (targets: readonly Target[]): number => {
    const positions = targets.map(({ row }) => row);
    copyRows(normed, positions, chosen);
    logits.data.fill(0, 0, targets.length * shape.vocabulary);
    kernel.addProduct(logits, chosen, embedding.forward, targets.length);
    const loss = crossEntropy(logits, targets);
    kernel.addTransposedProduct(embedding.gradient, chosen, logits, targets.length);
    kernel.addProduct(cleared(chosenChange), logits, embedding.backward, targets.length);
    cleared(normedChange);
    positions.forEach((row, index) => {
      copyRow(chosenChange, index, normedChange, row);
    });
    normaliseBackward(last, outputNorm, normedChange, cleared(change));
    return loss;
  };

  return {
    step(batch, rate) {
      const tokens = batch.flatMap((example) => example.tokens);
      for (const { gradient } of model.all) cleared(gradient);
      forward(tokens);
      const loss = compare(targetsOf(batch, length));
      for (const pass of passes.toReversed()) pass.backward(change);
      addEmbeddingGradient(embedding.gradient, tokens, change);
      optimise(rate);
      transposeAll(model);
      return loss;
    },
  };
}

/** The predictions of the batch; their shares add up to 1. */
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

/** Copies the given rows of `from` into the first rows of `to`. */
function copyRows(from: Matrix, rows: readonly number[], to: Matrix): void {
  rows.forEach((row, index) => {
    copyRow(from, row, to, index);
  });
}

function copyRow(from: Matrix, fromRow: number, to: Matrix, toRow: number): void {
  to.data.set(from.data.subarray(fromRow * from.columns, (fromRow + 1) * from.columns), toRow * to.columns);
}

function addEmbeddingGradient({ data, columns }: Matrix, tokens: readonly number[], change: Matrix): void {
  tokens.forEach((token, row) => {
    for (let at = 0; at < change.columns; at++) {
      const position = at * columns + token;
      data[position] = (data[position] ?? 0) + (change.data[row * change.columns + at] ?? 0);
    }
  });
}
