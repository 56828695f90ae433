import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  LineCounter,
  Scalar,
  type YAMLMap,
} from 'yaml';
import type { Path } from './fault.ts';
import { interpolate, type Outside } from './interpolate.ts';
import { parseYaml, sourceOf } from './parse-yaml.ts';
import { SourceMap } from './source-map.ts';

/**
 * A parsed YAML text, with every scalar as its characters in the file: numbers are not parsed here,
 * so none passes through a float. A member without a value is omitted; an empty item of a list is
 * null.
 */
export type Tree = string | null | readonly Tree[] | { readonly [member: string]: Tree };

/** A parsed text. `tree` is null when the text could not be parsed; then there are faults. */
export interface ReadYaml {
  readonly tree: Tree;
  readonly sourceMap: SourceMap;
}

const maxBytes = 1_048_576;
/** Nested aliases multiply; more than a hundred are not needed in a hand-written file. */
const maxAliases = 100;
const deepest = 20;

/** Parses a configuration text and interpolates outside values. Never throws. */
export function readYaml(text: string, outside: Outside): ReadYaml {
  const lines = new LineCounter();
  const sourceMap = new SourceMap(lines);
  const read = { tree: null, sourceMap };
  if (Buffer.byteLength(text) > maxBytes) {
    sourceMap.addAt(0, [], 'the file is above 1 MiB');
    return read;
  }
  const document = parseYaml(text.replace(/^\uFEFF/, ''), lines, sourceMap);
  if (document === null) return read;
  return { tree: new Reader(document, sourceMap, outside).root(), sourceMap };
}

class Reader {
  readonly #document: Document.Parsed;
  readonly #sourceMap: SourceMap;
  readonly #outside: Outside;
  #aliases = 0;

  constructor(document: Document.Parsed, sourceMap: SourceMap, outside: Outside) {
    this.#document = document;
    this.#sourceMap = sourceMap;
    this.#outside = outside;
  }

  root(): Tree {
    const contents = this.#document.contents;
    this.#sourceMap.record([], contents?.range[0] ?? 0);
    const tree = this.#value(contents, []) ?? {};
    return this.#aliases > maxAliases ? null : tree;
  }

  #value(node: unknown, path: Path): Tree {
    if (isAlias(node)) return this.#alias(node.resolve(this.#document), path);
    if (isCollection(node) && path.length >= deepest) {
      this.#sourceMap.addUnknown(path, 'is nested too deeply');
      return null;
    }
    if (isMap(node)) return this.#members(node, path);
    if (isCollection(node)) return node.items.map((item, i) => this.#item(item, [...path, i]));
    return isScalar(node) ? this.#scalar(node, path) : null;
  }

  #alias(target: unknown, path: Path): Tree {
    if (target === undefined) {
      this.#sourceMap.addUnknown(path, 'is an unknown alias: no anchor before it has that name');
      return null;
    }
    this.#aliases += 1;
    if (this.#aliases <= maxAliases) return this.#value(target, path);
    if (this.#aliases === maxAliases + 1) {
      this.#sourceMap.addUnknown(path, `the file uses aliases (*name) more than ${maxAliases} times`);
    }
    return null;
  }

  #item(node: unknown, path: Path): Tree {
    this.#sourceMap.record(path, startOf(node) ?? 0);
    return this.#value(node, path);
  }

  #members(map: YAMLMap, path: Path): Tree {
    const members = new Map<string, Tree>();
    const offsets = new Map<string, number>();
    for (const { key, value } of map.items) {
      const name = isScalar(key) ? sourceOf(key) : null;
      const at = startOf(key) ?? startOf(map) ?? 0;
      if (name === null || name === '__proto__') {
        this.#sourceMap.addAt(
          at,
          path,
          name === null ? "a member's name must be a word" : `unknown member "${name}"`,
        );
        continue;
      }
      const inner = [...path, name];
      const before = offsets.get(name);
      if (before !== undefined) {
        this.#sourceMap.addAt(at, inner, `stands here twice, first on line ${this.#sourceMap.lineOf(inner)}`);
        continue;
      }
      offsets.set(name, at);
      const empty = value === null || isNull(value);
      this.#sourceMap.record(inner, empty ? at : (startOf(value) ?? at), at);
      const read = empty ? null : this.#value(value, inner);
      if (read !== null) members.set(name, read);
    }
    return Object.fromEntries(members);
  }

  #scalar(node: Scalar, path: Path): Tree {
    if (isNull(node)) return null;
    const text = interpolate(sourceOf(node), this.#outside);
    if (!text.ok) {
      this.#sourceMap.addUnknown(path, text.message);
      return '';
    }
    if (text.fromOutside) this.#sourceMap.markFromOutside(path);
    return text.text;
  }
}

function isNull(node: unknown): boolean {
  if (!isScalar(node) || (node.type !== undefined && node.type !== Scalar.PLAIN)) return false;
  return /^(~|null|Null|NULL)?$/.test(node.source ?? '');
}

function startOf(node: unknown): number | null {
  return isScalar(node) || isCollection(node) || isAlias(node) ? (node.range?.[0] ?? null) : null;
}
