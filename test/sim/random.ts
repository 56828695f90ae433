/**
 * All randomness of a simulation comes from one of these: the same seed, the same draws (sfc32).
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed >>> 0;
    this.#b = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
    this.#c = (Math.floor(seed / 2 ** 32) ^ 0xb5297a4d) >>> 0;
    for (let n = 0; n < 12; n += 1) this.#next();
  }

  /** A whole number from `least` to `most`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.unit() * (max - min + 1));
  }

  /** From 0 up to, not including, 1. */
  unit(): number {
    return this.#next() / 2 ** 32;
  }

  /** True in so many of a thousand cases. */
  inThousand(cases: number): boolean {
    return this.unit() * 1000 < cases;
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.int(0, from.length - 1)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0;
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) >>> 0;
    this.#c = (this.#c + sum) >>> 0;
    return sum;
  }
}
