/** Random choices from one source of numbers. */
export interface Rng {
  /** The next number in [0, 1). */
  roll(): number;
  /** A whole number below `count`. */
  below(count: number): number;
  /** True in the given share of cases. */
  chance(share: number): boolean;
  /** One of the items, of which there is at least one. */
  pick<T>(items: readonly T[]): T;
  /** The items in another order. */
  shuffle<T>(items: readonly T[]): T[];
}

/** Creates random choices from `random`. */
export function rngOf(random: () => number): Rng {
  const below = (count: number): number => Math.floor(random() * count);
  return {
    roll: random,
    below,
    chance: (share) => random() < share,
    pick: (items) => items[below(items.length)] as (typeof items)[number],
    shuffle: (items) => {
      const left = [...items];
      return items.map(() => left.splice(below(left.length), 1)[0] as (typeof items)[number]);
    },
  };
}
