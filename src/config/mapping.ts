import { z } from 'zod';
import type { Path } from './fault.ts';
import type { Tree } from './read-yaml.ts';
import { quoted } from './schema-faults.ts';
import type { SourceMap } from './source-map.ts';
import { has, type Members, memberOf, membersOf, textOf } from './tree.ts';

type Inner<M> = M extends
  | z.ZodOptional<infer I>
  | z.ZodPrefault<infer I>
  | z.ZodPipe<infer I, z.core.$ZodType>
  ? Inner<I>
  : M;
type ObjectIn<M> = Inner<M> extends infer O extends z.ZodObject ? O : never;
type ItemIn<M> = Inner<M> extends z.ZodArray<infer I> ? ObjectIn<I> : never;
type Name<S extends z.ZodObject> = keyof S['shape'] & string;

/** The mapping of a section of the schema. */
export type MappingOf<M> = Mapping<ObjectIn<M>>;

/** A whole file as a mapping. */
export function mappingOf<M extends z.core.$ZodType>(
  section: M,
  tree: Tree,
  sourceMap: SourceMap,
): MappingOf<M> {
  return new Mapping(innerOf(section) as ObjectIn<M>, tree, [], sourceMap);
}

/**
 * A mapping of the file, for checks between members. Each member is parsed by itself with its type
 * in the schema, so that a fault in one does not hide those between others, and a default stands
 * only in the schema. Faults are reported at the positions of members.
 */
export class Mapping<S extends z.ZodObject> {
  readonly #path: Path;
  readonly #schema: S;
  readonly #members: Members;
  readonly #sourceMap: SourceMap;

  constructor(schema: S, tree: Tree | undefined, path: Path, sourceMap: SourceMap) {
    this.#path = path;
    this.#schema = schema;
    this.#members = membersOf(tree);
    this.#sourceMap = sourceMap;
  }

  /** Whether the file states the member, valid or not. */
  states(name: Name<S>): boolean {
    return has(this.#members, name);
  }

  /**
   * The value of a member: its default when the file does not state it; undefined when it has none,
   * or is invalid, which the schema reports.
   */
  value<N extends Name<S>>(name: N): NonNullable<z.output<S['shape'][N]>> | undefined {
    const { data } = z.safeParse(this.#memberType(name), memberOf(this.#members, name));
    return (data ?? undefined) as NonNullable<z.output<S['shape'][N]>> | undefined;
  }

  /** The text of a scalar in the file, valid or not; undefined when there is none. */
  text(name: Name<S>): string | undefined {
    return textOf(this.#members, name);
  }

  /** The items of a list, valid or not; none without the member; null when it is not a list. */
  items(name: Name<S>): readonly Tree[] | null {
    const value = memberOf(this.#members, name) ?? [];
    return Array.isArray(value) ? value : null;
  }

  /** The members of a mapping, valid or not; none when there is no such mapping. */
  members(name: Name<S>): Members {
    return membersOf(memberOf(this.#members, name));
  }

  /** A member that is a mapping; without members when the file has no such mapping. */
  mapping<N extends Name<S>>(name: N): MappingOf<S['shape'][N]> {
    const type = innerOf(this.#memberType(name)) as ObjectIn<S['shape'][N]>;
    return new Mapping(type, memberOf(this.#members, name), [...this.#path, name], this.#sourceMap);
  }

  /** The items of a list of mappings. */
  mappings<N extends Name<S>>(name: N): readonly Mapping<ItemIn<S['shape'][N]>>[] {
    const list = innerOf(this.#memberType(name)) as z.ZodArray;
    const type = innerOf(list.element) as ItemIn<S['shape'][N]>;
    return (this.items(name) ?? []).map(
      (item, index) => new Mapping(type, item, [...this.#path, name, index], this.#sourceMap),
    );
  }

  /** Reports a fault of the mapping itself. */
  add(message: string): void {
    this.#sourceMap.add(this.#path, message);
  }

  /** Reports a fault of a member, or of an item of it. */
  addAt(name: Name<S>, message: string, item?: number): void {
    this.#sourceMap.add([...this.#path, name, ...(item === undefined ? [] : [item])], message);
  }

  /** Reports a member that has no effect, at its name. */
  addAtName(name: Name<S>, message: string): void {
    this.#sourceMap.add([...this.#path, name], message, 'name');
  }

  /** The line of a member. */
  lineOf(name: Name<S>): number {
    return this.#sourceMap.lineOf([...this.#path, name]);
  }

  /** Whether nothing is known about a member, because a value from outside is missing. */
  isUnknown(name: Name<S>): boolean {
    return this.#sourceMap.isUnknown([...this.#path, name]);
  }

  /**
   * The text of a member as a message may quote it; `otherwise` when it comes from outside the
   * file.
   */
  shown(name: Name<S>, otherwise: string): string {
    const isSecret = this.#sourceMap.isFromOutside([...this.#path, name]);
    return isSecret ? otherwise : JSON.stringify(this.text(name));
  }

  /** ` (100)`: the text of a member inside a message; empty when a message must not quote it. */
  inBrackets(name: Name<S>): string {
    const text = this.#sourceMap.isFromOutside([...this.#path, name]) ? undefined : this.text(name);
    return text === undefined ? '' : ` (${text})`;
  }

  /** `, not "101"`: the end of a message; empty when a message must not quote the member. */
  notShown(name: Name<S>): string {
    return quoted(this.text(name) ?? '', [...this.#path, name], this.#sourceMap);
  }

  #memberType(name: Name<S>): z.core.$ZodType {
    const type = this.#schema.shape[name];
    if (type === undefined) throw new Error(`the schema has no member ${name}`);
    return type;
  }
}

/** The type without `optional`, its default and what becomes of its value. */
function innerOf(type: z.core.$ZodType): z.core.$ZodType {
  if (type instanceof z.ZodOptional || type instanceof z.ZodPrefault) return innerOf(type.unwrap());
  return type instanceof z.ZodPipe ? innerOf(type.in) : type;
}
