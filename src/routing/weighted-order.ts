import type { Candidate } from '../catalogue/model.ts';

/** A candidate is never taken to be cheaper than this part of the dearest that it shares with: what is free has a price too. */
const cheapest = 0.01;

/**
 * The place of each candidate of a model in the order of the file. Neighbours that state a `weight` have the same place, which they
 * share; one of weight 0 stands beside them and shares nothing.
 */
function scaledPositions(candidates: readonly Candidate[]): ReadonlyMap<Candidate, number> {
  const places = new Map<Candidate, number>();
  let place = 0;
  let wasWeighted = false;
  for (const candidate of candidates) {
    const { weight } = candidate;
    if (weight !== 0) {
      const isWeighted = weight !== null;
      if (!(isWeighted && wasWeighted)) place += 1;
      wasWeighted = isWeighted;
    }
    places.set(candidate, place);
  }
  return places;
}

/** Whether any two of these candidates share a place, so that the order between them is drawn. */
export function isShared(candidates: readonly Candidate[]): boolean {
  let weighted = 0;
  for (const { weight } of candidates) if (weight !== null && weight > 0) weighted += 1;
  return weighted > 1;
}

/**
 * What a candidate weighs among those that share its place: its weight over the square of its price, as OpenRouter's default is
 * 1/price². `dearest` is the highest price among them, as `costOfBoth` tells it.
 */
function weightOf(candidate: Candidate, dearest: number): number {
  const price = dearest === 0 ? 1 : Math.max(costOfBoth(candidate) / dearest, cheapest);
  return (candidate.weight ?? 1) / price ** 2;
}

/** A prompt token and a completion token, in pico-won: what candidates are compared by when price is the matter. */
export function costOfBoth({ price }: Candidate): number {
  return Number(price.prompt) + Number(price.completion);
}

/** What stays the same about a model's candidates for as long as the catalogue stands: computed once. */
interface Scale {
  readonly places: ReadonlyMap<Candidate, number>;
  /** What each weighs among those that share its place. */
  readonly weights: ReadonlyMap<Candidate, number>;
}

const scales = new WeakMap<readonly Candidate[], Scale>();

function scaleOf(all: readonly Candidate[]): Scale {
  const known = scales.get(all);
  if (known !== undefined) return known;
  const places = scaledPositions(all);
  const dearest = new Map<number | undefined, number>();
  for (const candidate of all) {
    if (candidate.weight === 0) continue;
    const place = places.get(candidate);
    dearest.set(place, Math.max(dearest.get(place) ?? 0, costOfBoth(candidate)));
  }
  const weights = new Map(all.map((one) => [one, weightOf(one, dearest.get(places.get(one)) ?? 0)] as const));
  const scale = { places, weights };
  scales.set(all, scale);
  return scale;
}

/**
 * The candidates of one model in the order of the file, those that share a place in an order drawn by weight. The same seed draws
 * the same order, and without one of them the order of the others stays: a session keeps to its candidate, and only the sessions of
 * a candidate that is gone move (weighted rendezvous hashing: no table, nothing to expire, the same on every node).
 */
export function balanced(all: readonly Candidate[], able: readonly Candidate[], seed: string): Candidate[] {
  const { places, weights } = scaleOf(all);
  return able
    .map((candidate) => {
      const place = places.get(candidate) ?? 0;
      const drawn = (weights.get(candidate) ?? 0) / -Math.log(uniform(`${seed}\0${candidate.label}`));
      return { candidate, place, drawn };
    })
    .sort((a, b) => a.place - b.place || b.drawn - a.drawn)
    .map(({ candidate }) => candidate);
}

/** The share of requests for which each of these candidates comes before the others of its place, from 0 to 1. */
export function sharesOf(
  all: readonly Candidate[],
  able: readonly Candidate[],
): ReadonlyMap<Candidate, number> {
  const { places, weights } = scaleOf(all);
  const weighs = (one: Candidate): number => (one.weight === 0 ? 0 : (weights.get(one) ?? 0));
  const shares = new Map<Candidate, number>();
  for (const candidate of able) {
    const beside = able.filter((other) => places.get(other) === places.get(candidate));
    const sum = beside.reduce((total, other) => total + weighs(other), 0);
    shares.set(candidate, candidate.weight === 0 ? 0 : weighs(candidate) / sum);
  }
  return shares;
}

/** A number above 0 and below 1 that a text always gives, evenly spread over texts (cyrb53: 53 bits; no secret depends on it). */
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
