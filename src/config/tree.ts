import type { Path } from './fault.ts';
import type { Tree } from './read-yaml.ts';

/** A mapping of the file. */
export type Members = { readonly [member: string]: Tree };

/** The value as a mapping; an empty one for any other value, which the schema then reports. */
export function membersOf(tree: Tree | undefined): Members {
  return typeof tree === 'object' && tree !== null && !Array.isArray(tree) ? (tree as Members) : {};
}

/** The items of a list member, each with its index; none when it is not a list. */
export function itemsOf(members: Members, name: string): readonly (readonly [number, Members])[] {
  const value = memberOf(members, name);
  return Array.isArray(value) ? value.map((item: Tree, i) => [i, membersOf(item)] as const) : [];
}

/** The text of a member; undefined when there is none. */
export function textOf(members: Members, name: string): string | undefined {
  const value = memberOf(members, name);
  return typeof value === 'string' ? value : undefined;
}

/** Whether the member is in the file. */
export function has(members: Members, name: string): boolean {
  return Object.hasOwn(members, name);
}

/** The member's own value; undefined when it is not in the file. */
export function memberOf(members: Members, name: string): Tree | undefined {
  return has(members, name) ? members[name] : undefined;
}

/** The value at a path; undefined when there is none. */
export function valueAt(tree: Tree, path: Path): Tree | undefined {
  let value: Tree | undefined = tree;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Readonly<Record<string | number, Tree>>)[step];
  }
  return value;
}
