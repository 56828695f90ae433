import { BlockList, isIP, isIPv6 } from 'node:net';
import { cidr } from './validators.ts';

/** The proxies that the environment names, as `http.setGlobalProxyFromEnv` takes them. */
export interface Proxies {
  readonly HTTP_PROXY?: string;
  readonly HTTPS_PROXY?: string;
  /** With the loopback addresses, which a proxy cannot reach. */
  readonly NO_PROXY: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const names = ['HTTP_PROXY', 'HTTPS_PROXY'] as const;
const loopback = ['localhost', '127.0.0.1', '::1', '[::1]'];

/** Why a text is not the URL of a proxy; null if it is one. Never quotes it: it may have a password. */
export function proxyFault(text: string): string | null {
  const url = URL.parse(text);
  return /^https?:$/.test(url?.protocol ?? '') && url?.pathname === '/' && url.search + url.hash === ''
    ? null
    : 'must be the URL of a proxy, such as http://user:password@proxy.example.com:3128';
}

/** The faults of the variables of proxies. */
export function proxyFaults(env: Environment): readonly string[] {
  return names.flatMap((name) => {
    const fault = proxyFault(stated(name, env) ?? 'http://none');
    return fault === null ? [] : [`the environment variable ${name} ${fault}`];
  });
}

/**
 * The proxies of `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in either case; null when there is none.
 * As for curl, an entry of `NO_PROXY` stands for its subdomains too, or for the addresses of a range.
 */
export function proxiesOf(env: Environment): Proxies | null {
  const found = names.flatMap((name) => {
    const url = stated(name, env);
    return url === null || proxyFault(url) !== null ? [] : [[name, url]];
  });
  if (found.length === 0) return null;
  const entries = (variable('NO_PROXY', env) ?? '').split(/[,\s]+/).filter((entry) => entry !== '');
  const direct = entries.flatMap((entry) => (/^[a-z]/i.test(entry) ? [entry, `.${entry}`] : [entry]));
  return { ...Object.fromEntries(found), NO_PROXY: [...direct, ...loopback].join(',') };
}

/**
 * Whether the host of a URL is an address in a range of `NO_PROXY`, such as 10.0.0.0/8 or fd00::/8:
 * Node's agents and undici know none.
 */
export function isInRange(host: string, { NO_PROXY }: Proxies): boolean {
  const [address = '', ...entries] = [host, ...NO_PROXY.split(',')].map((one) => one.replace(/[[\]]/g, ''));
  const ranges = new BlockList();
  for (const entry of entries) {
    const [network = '', bits = ''] = entry.split('/');
    if (bits !== '' && cidr(entry) === null) ranges.addSubnet(network, Number(bits), familyOf(network));
  }
  return isIP(address) !== 0 && ranges.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

/** As curl, without a scheme it is `http://`. */
function stated(name: string, env: Environment): string | null {
  const value = variable(name, env);
  return value === null || value.includes('://') ? value : `http://${value}`;
}

function variable(name: string, env: Environment): string | null {
  return env[name.toLowerCase()] || env[name] || null;
}
