import type { Weight } from './model.ts';

/** Adam with a small weight decay of the matrices; each call is one step at the given rate. */
export function createOptimiser(weights: readonly Weight[]): (rate: number) => void {
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
