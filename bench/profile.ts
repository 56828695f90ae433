/**
 * Takes profiles of a running Node over its inspector, and assigns the time to owners: the rooms of
 * Naru, its packages, the parts of Node.
 */

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}
interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** The shares of a profile's busy time, 0 to 1, largest first. */
export interface ProfileShares {
  readonly owners: ReadonlyMap<string, number>;
  /** Functions with their place. */
  readonly functions: ReadonlyMap<string, number>;
}

/** A connection to the inspector of a process. */
export class Inspector {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, (result: unknown) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { readonly id?: number; readonly result?: unknown };
      if (id === undefined) return;
      this.#pending.get(id)?.(result);
      this.#pending.delete(id);
    });
  }

  /** Connects to the inspector on a port of this machine. */
  static async open(port: number): Promise<Inspector> {
    const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as readonly {
      readonly webSocketDebuggerUrl: string;
    }[];
    const url = targets[0]?.webSocketDebuggerUrl;
    if (url === undefined) throw new Error('the process has no inspector');
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', () => reject(new Error('the inspector refused the connection')));
    });
    const inspector = new Inspector(socket);
    await inspector.#call('Profiler.enable');
    await inspector.#call('Profiler.setSamplingInterval', { interval: 200 });
    return inspector;
  }

  /** The shares of the time that the main thread was busy during `work`. */
  async profile<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly shares: ProfileShares }> {
    await this.#call('Profiler.start');
    const result = await work();
    const { profile } = (await this.#call('Profiler.stop')) as { readonly profile: Profile };
    return { result, shares: sharesOf(profile) };
  }

  close(): void {
    this.#socket.close();
  }

  #call(method: string, params: object = {}): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    const responded = new Promise<unknown>((resolve) => this.#pending.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    return responded;
  }
}

function sharesOf({ nodes, samples, timeDeltas }: Profile): ProfileShares {
  const owners = new Map<string, number>();
  const functions = new Map<string, number>();
  const ownerOfNode = ownersOf(nodes);
  let busy = 0;
  samples.forEach((id, n) => {
    const found = ownerOfNode.get(id);
    if (found === undefined || found.owner === idle) return;
    const us = timeDeltas[n] ?? 0;
    busy += us;
    owners.set(found.owner, (owners.get(found.owner) ?? 0) + us);
    functions.set(found.place, (functions.get(found.place) ?? 0) + us);
  });
  return { owners: asShares(owners, busy), functions: asShares(functions, busy) };
}

function asShares(times: ReadonlyMap<string, number>, busy: number): ReadonlyMap<string, number> {
  return new Map([...times].sort((a, b) => b[1] - a[1]).map(([name, us]) => [name, us / Math.max(1, busy)]));
}

const idle = 'idle';

/** The owner of each node; a function without a file, such as JSON.parse, belongs to its caller. */
function ownersOf(nodes: readonly ProfileNode[]) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const found = new Map<number, { readonly owner: string; readonly place: string }>();
  const walk = (id: number, caller: string): void => {
    const node = byId.get(id);
    if (node === undefined) return;
    const { functionName, url, lineNumber } = node.callFrame;
    const owner = ownerOf(functionName, url) ?? caller;
    const at =
      url === '' ? `(in ${caller})` : `${url.replace(/^.*\/(src|node_modules)\//, '')}:${lineNumber + 1}`;
    found.set(id, { owner, place: `${functionName || '(anonymous)'} ${at}` });
    for (const child of node.children ?? []) walk(child, owner);
  };
  const root = nodes[0];
  if (root !== undefined) walk(root.id, 'node: other');
  return found;
}

const partsOfNode: readonly (readonly [RegExp, string])[] = [
  [/^node:(_http|internal\/http)/, 'node: http server'],
  [/^node:(net|internal\/stream|stream|internal\/js_stream|events)/, 'node: sockets and streams'],
  [/^node:(timers|internal\/timers)/, 'node: timers'],
  [/^node:(internal\/process\/(task|promises)|internal\/async)/, 'node: ticks and promises'],
  [/^node:(fs|internal\/fs)/, 'node: files'],
];

function ownerOf(name: string, url: string): string | null {
  if (name === '(idle)') return idle;
  if (name === '(garbage collector)') return 'collector, main thread';
  if (name === '(program)') return 'native and kernel';
  if (url === '') return null;
  const room = /\/src\/([^/]+)\//.exec(url)?.[1];
  if (room !== undefined && !url.includes('node_modules')) return `${room}/`;
  const packageName = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (packageName !== undefined) return packageName;
  return partsOfNode.find(([pattern]) => pattern.test(url))?.[1] ?? 'node: other';
}
