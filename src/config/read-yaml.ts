import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  LineCounter,
  parseDocument,
  Scalar,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import type { Path } from './fault.ts';
import { interpolate, type Outside } from './interpolate.ts';
import { Places } from './places.ts';

/**
 * What a YAML text says, with every scalar as the characters that stand in the file: a number is not read here, so none
 * passes through a float. A member without a value is left out; an empty item of a list is null.
 */
export type Tree = string | null | readonly Tree[] | { readonly [member: string]: Tree };

/** A parsed text. `tree` is null when the text could not be understood at all; then there are faults. */
export interface ReadYaml {
  readonly tree: Tree;
  readonly places: Places;
}

const largestBytes = 1_048_576;
/** An alias that stands for aliases multiplies; a hundred uses are more than a file of people's needs. */
const mostAliases = 100;
const deepest = 20;
const tooDeep = 'the file is nested too deeply';

/** Parses a configuration text and puts in what it takes from outside. Never throws. */
export function readYaml(text: string, outside: Outside): ReadYaml {
  const lines = new LineCounter();
  const places = new Places(lines);
  const read = { tree: null, places };
  if (Buffer.byteLength(text) > largestBytes) {
    places.addAt(0, [], 'the file is above 1 MiB');
    return read;
  }
  const parsed = parse(hideVariables(text.replace(/^\uFEFF/, '')), lines);
  if (parsed === null) {
    places.addAt(0, [], tooDeep);
    return read;
  }
  addSyntaxFaults([...parsed.errors, ...parsed.warnings], lines, places);
  if (places.faults().length > 0) return read;
  return { tree: new Reader(parsed, places, outside).root(), places };
}

function parse(text: string, lineCounter: LineCounter): Document.Parsed | null {
  try {
    return parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      schema: 'failsafe',
      uniqueKeys: false,
      logLevel: 'error',
    });
  } catch (thrown) {
    if (thrown instanceof RangeError) return null;
    throw thrown;
  }
}

/** One fault for a line: what follows on it is mostly the parser's confusion about the first. */
function addSyntaxFaults(errors: readonly YAMLError[], lines: LineCounter, places: Places): void {
  const told = new Set<number>();
  for (const error of errors) {
    const { line } = lines.linePos(error.pos[0]);
    if (!told.has(line)) places.addAt(error.pos[0], [], wordsOf(error));
    told.add(line);
  }
}

/*
 * Inside { } and [ ] YAML would take the braces of ${NAME} for its own. They are put out of its sight while it parses, by
 * characters of the same length, so that nothing moves.
 */
function hideVariables(text: string): string {
  return text.replaceAll(/\$\{([A-Za-z_]\w*)\}/g, '$\uE000$1\uE001');
}

function showVariables(text: string): string {
  return text.replaceAll(/\$\uE000([A-Za-z_]\w*)\uE001/g, (_all, name) => `$\{${name}}`);
}

function wordsOf(error: YAMLError): string {
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return 'a tab cannot indent in YAML: use spaces';
    case 'MULTIPLE_DOCS':
      return 'a configuration is one YAML document: take out the second ---';
    case 'TAG_RESOLVE_FAILED':
      return 'tags (!name) are not understood here';
    default:
      if (error.message.includes('call stack')) return tooDeep;
      // The parser quotes what it stumbled over, and that may be a credential.
      return `not YAML: ${error.message.replace(/( in YAML stream)?: .*/s, '').toLowerCase()}`;
  }
}

class Reader {
  readonly #document: Document.Parsed;
  readonly #places: Places;
  readonly #outside: Outside;
  #aliases = 0;

  constructor(document: Document.Parsed, places: Places, outside: Outside) {
    this.#document = document;
    this.#places = places;
    this.#outside = outside;
  }

  root(): Tree {
    const contents = this.#document.contents;
    this.#places.record([], contents?.range[0] ?? 0);
    const tree = this.#value(contents, []) ?? {};
    return this.#aliases > mostAliases ? null : tree;
  }

  #value(node: unknown, path: Path): Tree {
    if (isAlias(node)) return this.#alias(node.resolve(this.#document), path);
    if (isCollection(node) && path.length >= deepest) {
      this.#places.addUnknown(path, 'is nested too deeply');
      return null;
    }
    if (isMap(node)) return this.#members(node, path);
    if (isCollection(node)) return node.items.map((item, i) => this.#item(item, [...path, i]));
    return isScalar(node) ? this.#scalar(node, path) : null;
  }

  #alias(target: unknown, path: Path): Tree {
    if (target === undefined) {
      this.#places.addUnknown(path, 'is an alias of nothing: no anchor before it has that name');
      return null;
    }
    this.#aliases += 1;
    if (this.#aliases <= mostAliases) return this.#value(target, path);
    if (this.#aliases === mostAliases + 1) {
      this.#places.addUnknown(path, `the file uses aliases (*name) more than ${mostAliases} times`);
    }
    return null;
  }

  #item(node: unknown, path: Path): Tree {
    this.#places.record(path, startOf(node) ?? 0);
    return this.#value(node, path);
  }

  #members(map: YAMLMap, path: Path): Tree {
    const members = new Map<string, Tree>();
    const offsets = new Map<string, number>();
    for (const { key, value } of map.items) {
      const name = isScalar(key) ? sourceOf(key) : null;
      const at = startOf(key) ?? startOf(map) ?? 0;
      if (name === null || name === '__proto__') {
        this.#places.addAt(
          at,
          path,
          name === null ? "a member's name must be a word" : `unknown member "${name}"`,
        );
        continue;
      }
      const inner = [...path, name];
      const before = offsets.get(name);
      if (before !== undefined) {
        this.#places.addAt(at, inner, `stands here twice, first on line ${this.#places.lineOf(inner)}`);
        continue;
      }
      offsets.set(name, at);
      const empty = value === null || isNull(value);
      this.#places.record(inner, empty ? at : (startOf(value) ?? at), at);
      const read = empty ? null : this.#value(value, inner);
      if (read !== null) members.set(name, read);
    }
    return Object.fromEntries(members);
  }

  #scalar(node: Scalar, path: Path): Tree {
    if (isNull(node)) return null;
    const text = interpolate(sourceOf(node), this.#outside);
    if (!text.ok) {
      this.#places.addUnknown(path, text.message);
      return '';
    }
    if (text.fromOutside) this.#places.markFromOutside(path);
    return text.text;
  }
}

function isNull(node: unknown): boolean {
  if (!isScalar(node) || (node.type !== undefined && node.type !== Scalar.PLAIN)) return false;
  return /^(~|null|Null|NULL)?$/.test(node.source ?? '');
}

function sourceOf(scalar: Scalar): string {
  return showVariables(scalar.source ?? String(scalar.value));
}

function startOf(node: unknown): number | null {
  return isScalar(node) || isCollection(node) || isAlias(node) ? (node.range?.[0] ?? null) : null;
}
