import { execFileSync } from 'node:child_process';

/** A machine of the drill: a network namespace with one cable to the bridge. */
export interface Host {
  readonly name: string;
  readonly address: string;
  /** The command, and its arguments, that runs another one on it. */
  readonly within: readonly string[];
  /** Pulls its cable: every packet to and from it is lost, and no connection notices. */
  cut(): void;
  mend(): void;
}

/** Hosts on one bridge. This process has a cable to it too. */
export interface Network {
  /** Of this process. */
  readonly address: string;
  /** The addresses of all, as CIDR. */
  readonly range: string;
  host(name: string): Host;
  /** An address that one host has at a time, as a virtual address of a failover. */
  readonly floating: string;
  /** Gives it to a host, and takes it from the host that had it. */
  moveFloating(to: Host): void;
  /** Removes everything that was made. */
  close(): void;
}

/** Of a range that is meant for tests of networks (RFC 2544). */
const firstBytes = '198.18';

/** Makes the namespaces; needs root. They are removed when this process exits at the latest. */
export function openNetwork(names: readonly string[]): Network {
  const base = `${firstBytes}.${1 + (process.pid % 250)}`;
  const at = (last: number): string => `${base}.${last}`;
  const prefix = `naru-${process.pid}`;
  const bridge = `${prefix}-bridge`;
  const ours = `naru${process.pid}`.slice(0, 15);
  const made: string[] = [];
  const addNamespace = (name: string): void => {
    ip('netns', 'add', name);
    made.push(name);
    ip('-n', name, 'link', 'set', 'lo', 'up');
  };
  const close = (): void => {
    for (const name of made.splice(0)) tryIp('netns', 'del', name);
    tryIp('link', 'del', ours);
  };
  process.once('exit', close);
  addNamespace(bridge);
  ip('-n', bridge, 'link', 'add', 'br0', 'type', 'bridge');
  ip('-n', bridge, 'link', 'set', 'br0', 'up');
  const plug = (port: string): void => {
    ip('-n', bridge, 'link', 'set', port, 'master', 'br0');
    ip('-n', bridge, 'link', 'set', port, 'up');
  };
  ip('link', 'add', ours, 'type', 'veth', 'peer', 'name', 'p1', 'netns', bridge);
  ip('addr', 'add', `${at(1)}/24`, 'dev', ours);
  ip('link', 'set', ours, 'up');
  plug('p1');

  const hosts = new Map<string, Host>();
  for (const [n, name] of names.entries()) {
    const namespace = `${prefix}-${name}`;
    const port = `p${n + 10}`;
    addNamespace(namespace);
    ip('link', 'add', 'eth0', 'netns', namespace, 'type', 'veth', 'peer', 'name', port, 'netns', bridge);
    ip('-n', namespace, 'addr', 'add', `${at(n + 10)}/24`, 'dev', 'eth0');
    ip('-n', namespace, 'link', 'set', 'eth0', 'up');
    plug(port);
    hosts.set(name, {
      name,
      address: at(n + 10),
      within: ['ip', 'netns', 'exec', namespace],
      cut: () => ip('-n', bridge, 'link', 'set', port, 'down'),
      mend: () => ip('-n', bridge, 'link', 'set', port, 'up'),
    });
  }

  const floating = at(200);
  return {
    address: at(1),
    range: `${base}.0/24`,
    floating,
    host(name) {
      const found = hosts.get(name);
      if (found === undefined) throw new Error(`there is no host ${name}`);
      return found;
    },
    moveFloating(to) {
      for (const { name } of hosts.values())
        tryIp('-n', `${prefix}-${name}`, 'addr', 'del', `${floating}/24`, 'dev', 'eth0');
      ip('-n', `${prefix}-${to.name}`, 'addr', 'add', `${floating}/24`, 'dev', 'eth0');
      // As the announcement (gratuitous ARP) of the new owner does.
      for (const { name } of hosts.values()) ip('-n', `${prefix}-${name}`, 'neigh', 'flush', 'dev', 'eth0');
      ip('neigh', 'flush', 'dev', ours);
    },
    close,
  };
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** For what may not be there. */
function tryIp(...args: readonly string[]): void {
  try {
    execFileSync('ip', args, { stdio: 'ignore' });
  } catch {
    // It is not.
  }
}
