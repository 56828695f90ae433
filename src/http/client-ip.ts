import { BlockList, isIP, isIPv6 } from 'node:net';

/** Determines the address that a request is counted for. */
export class ClientAddresses {
  readonly #trusted = new BlockList();
  readonly #trustsNone: boolean;

  /**
   * `trustedProxies` are addresses or CIDRs whose `X-Forwarded-For` is trusted; any other is
   * ignored.
   */
  constructor(trustedProxies: readonly string[]) {
    this.#trustsNone = trustedProxies.length === 0;
    for (const range of trustedProxies) {
      const [address = '', bits] = range.split('/');
      const family = isIPv6(address) ? 'ipv6' : 'ipv4';
      if (bits === undefined) this.#trusted.addAddress(address, family);
      else this.#trusted.addSubnet(address, Number(bits), family);
    }
  }

  /**
   * The client's address: the peer, or the nearest address before it that is not a trusted proxy.
   */
  of(peer: string | undefined, forwardedFor: string | null): string {
    let address = plain(peer ?? '');
    if (this.#trustsNone || forwardedFor === null) return address;
    const hops = forwardedFor.split(',').map((hop) => plain(hop.trim()));
    while (this.#isTrusted(address)) {
      const before = hops.pop();
      if (before === undefined || isIP(before) === 0) break;
      address = before;
    }
    return address;
  }

  /** Whether a peer is a trusted proxy. */
  trusts(peer: string): boolean {
    return this.#isTrusted(plain(peer));
  }

  #isTrusted(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#trusted.check(address, family === 6 ? 'ipv6' : 'ipv4');
  }
}

/** An IPv4 address mapped into IPv6 is treated as the IPv4 address. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

/**
 * The unit that a limit counts: an IPv4 address, or the /64 network of an IPv6 address, because one
 * client owns all of that.
 */
export function limitedAs(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail = ''] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const zeros = address.includes('::') ? 8 - left.length - right.length : 0;
  return [...left, ...new Array<string>(Math.max(0, zeros)).fill('0'), ...right].slice(0, 4).join(':');
}
