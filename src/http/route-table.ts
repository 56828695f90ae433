import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';

/** What the table needs to know of a row. */
interface TableRow {
  readonly method: string;
  /** With `{name}` for a path parameter. */
  readonly path: string;
}

/** The result of a lookup. */
export type Found<Row extends TableRow> =
  | { readonly kind: 'route'; readonly route: Row; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'options'; readonly allow: readonly string[] };

interface RouteNode<Row> {
  readonly segments: readonly string[];
  readonly rows: Map<string, Row>;
}

/** Rows by method and path, indexed once. The public API and the page API have one table each. */
export class RouteTable<Row extends TableRow> {
  readonly routes: readonly Row[];
  readonly #exact = new Map<string, RouteNode<Row>>();
  readonly #patterns: RouteNode<Row>[] = [];

  constructor(routes: readonly Row[]) {
    this.routes = routes;
    for (const row of routes) this.#nodeOf(row.path).rows.set(row.method, row);
  }

  /**
   * Finds the row of a request. Refuses an unknown path with 404, and an unknown method with 405
   * and the accepted methods (spec:errors/9.4). HEAD uses GET's row (spec:api/4.7). One trailing
   * slash is ignored.
   */
  find(method: string, path: string): Found<Row> {
    const at = this.#lookUp(path);
    if (at === null) throw refuse('no_such_path', messages.noSuchPath(path), { path });
    const row = at.node.rows.get(method === 'HEAD' ? 'GET' : method);
    if (row !== undefined) return { kind: 'route', route: row, params: at.params };
    const allow = allowed(at.node);
    if (method === 'OPTIONS') return { kind: 'options', allow };
    throw refuse('method_not_allowed', messages.methodNotAllowed(method, allow), {
      path,
      method,
      allow,
    });
  }

  #lookUp(path: string): { node: RouteNode<Row>; params: Record<string, string> } | null {
    const bare = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
    const exact = this.#exact.get(bare);
    if (exact !== undefined) return { node: exact, params: {} };
    const found = this.#match(bare);
    // Clients that encode an id with a slash as one segment mean the same path.
    return found ?? (encodedSlash.test(bare) ? this.#match(bare.replace(encodedSlash, '/')) : null);
  }

  #match(path: string): { node: RouteNode<Row>; params: Record<string, string> } | null {
    const segments = path.split('/');
    for (const node of this.#patterns) {
      const params = match(node.segments, segments);
      if (params !== null) return { node, params };
    }
    return null;
  }

  #nodeOf(path: string): RouteNode<Row> {
    const segments = path.split('/');
    if (!path.includes('{')) {
      const known: RouteNode<Row> = this.#exact.get(path) ?? { segments, rows: new Map() };
      this.#exact.set(path, known);
      return known;
    }
    const known = this.#patterns.find((node) => node.segments.join('/') === path);
    if (known !== undefined) return known;
    const node: RouteNode<Row> = { segments, rows: new Map() };
    this.#patterns.push(node);
    return node;
  }
}

const encodedSlash = /%2f/i;

/** The methods that a path accepts, including HEAD and OPTIONS. */
function allowed(node: RouteNode<unknown>): readonly string[] {
  const methods = [...node.rows.keys()];
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
}

function match(pattern: readonly string[], segments: readonly string[]): Record<string, string> | null {
  if (pattern.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const found = segments[index] ?? '';
    if (!wanted.startsWith('{')) {
      if (wanted !== found) return null;
    } else {
      if (found === '') return null;
      params[wanted.slice(1, -1)] = found;
    }
  }
  return params;
}
