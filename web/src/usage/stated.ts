/** What requests state of themselves; of each one value, since a value may have commas. */
export const stated = ['user', 'tag', 'tag_value'] as const;
type Stated = (typeof stated)[number];

/** Their values in the URL. */
export type StatedLists = Readonly<Record<Stated, readonly string[]>>;

/** Their parameters; a value without its tag narrows nothing. */
export function statedQuery(values: StatedLists): { readonly [Name in Stated]?: string } {
  const names = values.tag[0] === undefined ? (['user'] as const) : stated;
  return Object.fromEntries(
    names.flatMap((name) => (values[name][0] === undefined ? [] : [[name, values[name][0]]])),
  );
}
