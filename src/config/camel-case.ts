/** `base_url` is `baseUrl`. */
type CamelName<N> = N extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelName<Tail>>}` : N;

type CamelCased<T> = { [N in keyof T as CamelName<N>]: T[N] };

/** The same values under the names of the code: `base_url` is `baseUrl`. */
export function camelCased<T extends object>(members: T): CamelCased<T> {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name.replaceAll(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase()),
      value,
    ]),
  ) as CamelCased<T>;
}
