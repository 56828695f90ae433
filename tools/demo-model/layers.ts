import { exp, log } from './arithmetic.ts';
import type { Matrix } from './kernel.ts';
import { normEpsilon, type Weight } from './model.ts';

/** The parts of the network other than matrix products, forward and backward. */

/** A token to predict from a row of the batch, with its share of the batch's loss. */
export interface Target {
  readonly row: number;
  readonly token: number;
  readonly share: number;
}

/** The three matrices of a gated feed-forward network. */
export interface Gated {
  readonly gate: Matrix;
  readonly up: Matrix;
  readonly gated: Matrix;
}

/** Converts logits to their gradient in place; returns the loss. */
export function crossEntropy({ data, columns }: Matrix, targets: readonly Target[]): number {
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

/**
 * LayerNorm without a bias: each row minus its mean, divided by its deviation, times the weight.
 */
export function normalise(x: Matrix, weight: Weight, out: Matrix): void {
  const { columns } = x;
  for (let row = 0; row < x.rows; row++) {
    const base = row * columns;
    const { mean, inverse } = momentsOf(x.data, base, columns);
    for (let at = 0; at < columns; at++) {
      out.data[base + at] = ((x.data[base + at] ?? 0) - mean) * inverse * (weight.forward.data[at] ?? 0);
    }
  }
}

/**
 * Adds to `into` the gradient of the input of `normalise`, and to the weight's gradient its own.
 */
export function normaliseBackward(x: Matrix, weight: Weight, change: Matrix, into: Matrix): void {
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
      into.data[base + at] =
        (into.data[base + at] ?? 0) + (incoming - sum / columns - (unit * along) / columns) * inverse;
    }
  }
}

function momentsOf(
  data: Float32Array,
  base: number,
  columns: number,
): { readonly mean: number; readonly inverse: number } {
  let mean = 0;
  for (let at = base; at < base + columns; at++) mean += data[at] ?? 0;
  mean /= columns;
  let variance = 0;
  for (let at = base; at < base + columns; at++) variance += ((data[at] ?? 0) - mean) ** 2;
  return { mean, inverse: 1 / Math.sqrt(variance / columns + normEpsilon) };
}

/** `gated = silu(gate) · up`; keeps the sigmoid for the backward pass. */
export function gateForward({ gate, up, gated, sigmoid }: Gated & { readonly sigmoid: Matrix }): void {
  for (let at = 0; at < gated.data.length; at++) {
    const g = gate.data[at] ?? 0;
    const share = 1 / (1 + exp(-g));
    sigmoid.data[at] = share;
    gated.data[at] = g * share * (up.data[at] ?? 0);
  }
}

/** Writes the gradients of gate and up from that of gated. */
export function gateBackward(kept: Gated & { readonly sigmoid: Matrix }, change: Gated): void {
  for (let at = 0; at < change.gated.data.length; at++) {
    const g = kept.gate.data[at] ?? 0;
    const incoming = change.gated.data[at] ?? 0;
    const share = kept.sigmoid.data[at] ?? 0;
    change.up.data[at] = incoming * g * share;
    change.gate.data[at] = incoming * (kept.up.data[at] ?? 0) * share * (1 + g * (1 - share));
  }
}
