import type { Candidate } from '../catalogue/model.ts';

/**
 * A candidate's price counts as at least this part of the highest price at its position: a free
 * candidate has a price too.
 */
const cheapest = 0.01;

/**
 * The position of each candidate of a model in the file's order. Neighbours with a `weight` share a
 * position; one of weight 0 is next to them and shares nothing.
 */
function scaledPositions(candidates: readonly Candidate[]): ReadonlyMap<Candidate, number> {
  const positions = new Map<Candidate, number>();
  let position = 0;
  let wasWeighted = false;
  for (const candidate of candidates) {
    const { weight } = candidate;
    if (weight !== 0) {
      const isWeighted = weight !== null;
      if (!(isWeighted && wasWeighted)) position += 1;
      wasWeighted = isWeighted;
    }
    positions.set(candidate, position);
  }
  return positions;
}

/** Whether any two of these candidates share a position, so that their order is drawn. */
export function isShared(candidates: readonly Candidate[]): boolean {
  let weighted = 0;
  for (const { weight } of candidates) if (weight !== null && weight > 0) weighted += 1;
  return weighted > 1;
}

/**
 * The weight of a candidate at its position: its weight over the square of its price, as
 * OpenRouter's default is 1/price². `dearest` is the highest price among them, according to
 * `costOfBoth`.
 */
function weightOf(candidate: Candidate, dearest: number): number {
  const price = dearest === 0 ? 1 : Math.max(costOfBoth(candidate) / dearest, cheapest);
  return (candidate.weight ?? 1) / price ** 2;
}

/**
 * A prompt token and a completion token, in pico-won: the price by which candidates are compared.
 */
export function costOfBoth({ price }: Candidate): number {
  return Number(price.prompt) + Number(price.completion);
}

/** What is constant for a model's candidates while the catalogue is unchanged: computed once. */
interface Scale {
  readonly positions: ReadonlyMap<Candidate, number>;
  /** The weight of each candidate at its position. */
  readonly weights: ReadonlyMap<Candidate, number>;
}

const scales = new WeakMap<readonly Candidate[], Scale>();

function scaleOf(all: readonly Candidate[]): Scale {
  const known = scales.get(all);
  if (known !== undefined) return known;
  const positions = scaledPositions(all);
  const dearest = new Map<number | undefined, number>();
  for (const candidate of all) {
    if (candidate.weight === 0) continue;
    const position = positions.get(candidate);
    dearest.set(position, Math.max(dearest.get(position) ?? 0, costOfBoth(candidate)));
  }
  const weights = new Map(
    all.map((one) => [one, weightOf(one, dearest.get(positions.get(one)) ?? 0)] as const),
  );
  const scale = { positions, weights };
  scales.set(all, scale);
  return scale;
}

/**
 * The candidates of one model in the file's order; those with the same position in an order drawn
 * by weight. The same seed draws the same order, and removing one leaves the order of the others.
 * So a session keeps its candidate, and only the sessions of a removed candidate move. This is
 * weighted rendezvous hashing: no table, nothing to expire, the same on every node.
 */
export function balanced(all: readonly Candidate[], able: readonly Candidate[], seed: string): Candidate[] {
  const { positions, weights } = scaleOf(all);
  return able
    .map((candidate) => {
      const position = positions.get(candidate) ?? 0;
      const drawn = (weights.get(candidate) ?? 0) / -Math.log(uniform(`${seed}\0${candidate.label}`));
      return { candidate, position, drawn };
    })
    .sort((a, b) => a.position - b.position || b.drawn - a.drawn)
    .map(({ candidate }) => candidate);
}

/**
 * The share of requests for which each of these candidates comes first at its position, from 0 to
 * 1.
 */
export function sharesOf(
  all: readonly Candidate[],
  able: readonly Candidate[],
): ReadonlyMap<Candidate, number> {
  const { positions, weights } = scaleOf(all);
  const weighs = (one: Candidate): number => (one.weight === 0 ? 0 : (weights.get(one) ?? 0));
  const shares = new Map<Candidate, number>();
  for (const candidate of able) {
    const beside = able.filter((other) => positions.get(other) === positions.get(candidate));
    const sum = beside.reduce((total, other) => total + weighs(other), 0);
    shares.set(candidate, candidate.weight === 0 ? 0 : weighs(candidate) / sum);
  }
  return shares;
}

/**
 * A number above 0 and below 1 that is constant for a text and uniform over texts (cyrb53: 53 bits;
 * no secret depends on it).
 */
function uniform(text: string): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return ((b >>> 0) % 0x20_0000) * 2 ** -21 + ((a >>> 0) + 0.5) * 2 ** -53;
}
