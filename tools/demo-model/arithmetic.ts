/**
 * The arithmetic of the trainer, from `+ - * /` and `Math.sqrt` only. IEEE 754 defines these to the
 * last bit, while `Math.exp`, `Math.cos` and others may differ between versions of V8. So a rebuild
 * produces the same bytes everywhere.
 */

/** The powers of two from −1022 to 1023. */
const powersOfTwo = doublings(2.2250738585072014e-308, 2046);

/** e to the power of `x`, with a relative error below 1e-9; `x` is clamped to [−700, 700]. */
export function exp(x: number): number {
  const held = x < -700 ? -700 : x > 700 ? 700 : x;
  const power = Math.floor(held * Math.LOG2E + 0.5);
  // Cody and Waite: ln 2 in two parts, so that the remainder keeps its low bits.
  const r = held - power * 0.6931471803691238 - power * 1.9082149292705877e-10;
  const high = 1 / 120 + r * (1 / 720 + r * (1 / 5040 + r * (1 / 40_320 + r * (1 / 362_880))));
  return (
    (1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * high))))) * (powersOfTwo[power + 1022] ?? 0)
  );
}

/** The natural logarithm of a positive finite number, by Newton's method on `exp`. */
export function log(x: number): number {
  let guess = 0;
  let scaled = x;
  for (; scaled > 1.5; scaled /= 2) guess += Math.LN2;
  for (; scaled < 0.75; scaled *= 2) guess -= Math.LN2;
  for (let round = 0; round < 5; round++) guess += 2 * ((x - exp(guess)) / (x + exp(guess)));
  return guess;
}

/** Cosine and sine of an angle in [0, 1] radians. */
export function turn(angle: number): readonly [cosine: number, sine: number] {
  const square = angle * angle;
  let cosine = 1;
  let sine = 1;
  for (let n = 20; n > 0; n -= 2) {
    cosine = 1 - (square / (n * (n - 1))) * cosine;
    sine = 1 - (square / (n * (n + 1))) * sine;
  }
  return [cosine, angle * sine];
}

/**
 * A source of numbers in [0, 1): the same sequence for the same seed, on every machine
 * (mulberry32).
 */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function doublings(first: number, count: number): Float64Array {
  const values = new Float64Array(count);
  for (let index = 0, value = first; index < count; index++, value *= 2) values[index] = value;
  return values;
}
