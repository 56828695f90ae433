/** A lot that still has a remainder, in micro-won. */
export interface Lot {
  readonly id: number;
  readonly remaining: bigint;
  readonly expiresAtMs: number | null;
}

/** The lots after a charge, and how much of the charge they covered. */
export interface Charged {
  /** Only the lots that changed. */
  readonly lots: readonly Lot[];
  readonly taken: bigint;
}

/**
 * Spends `amount` from lots that are given in their order of spending: first to expire first, then
 * the oldest (spec:money/3.5,3.7). What the lots cannot cover is debt, and the next lot pays it.
 */
export function spend(lots: readonly Lot[], amount: bigint): Charged {
  const changed: Lot[] = [];
  let rest = amount;
  for (const lot of lots) {
    if (rest === 0n) break;
    const part = lot.remaining < rest ? lot.remaining : rest;
    changed.push({ ...lot, remaining: lot.remaining - part });
    rest -= part;
  }
  return { lots: changed, taken: amount - rest };
}

/**
 * Lots whose remainder is lost at the instant: `expires_at` is the first instant at which a lot no
 * longer counts.
 */
export function dueAt<L extends Lot>(lots: readonly L[], atMs: number): readonly L[] {
  return lots.filter((lot) => lot.expiresAtMs !== null && lot.expiresAtMs <= atMs);
}
