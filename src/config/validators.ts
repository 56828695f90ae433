import { X509Certificate } from 'node:crypto';
import { isIP, isIPv6 } from 'node:net';

/*
 * Checks that no pattern can express. Each returns an error message that completes the sentence
 * "listen.host …", or null for a valid value.
 */

/** An IP address or a host name. */
export function address(value: string): string | null {
  const isName =
    /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;
  return isIP(value) !== 0 || isName.test(value)
    ? null
    : 'must be an IP address or a host name, without a port';
}

/** An address that is reachable only from this machine. */
export function loopbackAddress(value: string): string | null {
  const isLoopback =
    value === 'localhost' || value === '::1' || (isIP(value) === 4 && value.startsWith('127.'));
  return isLoopback ? null : 'must be a loopback address such as 127.0.0.1: metrics are not for the network';
}

/** An IP address, or a network such as `10.0.0.0/8`. */
export function cidr(value: string): string | null {
  const [network = '', bits, ...rest] = value.split('/');
  const max = isIPv6(network) ? 128 : 32;
  const bitsFit = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= max);
  return isIP(network) !== 0 && bitsFit && rest.length === 0
    ? null
    : 'must be an IP address or a CIDR such as 10.0.0.0/8';
}

/** The root of an HTTP API. It must not contain a password, because it is printed. */
export function httpUrl(value: string): string | null {
  if (!/^https?:\/\//.test(value) || !URL.canParse(value))
    return 'must be a URL that begins with http:// or https://';
  const url = new URL(value);
  if (url.username !== '' || url.password !== '')
    return 'must not contain a user or a password: use api_key or headers';
  return url.search === '' && url.hash === '' ? null : 'must not have a query or a fragment';
}

/**
 * The root of the API of an upstream: a path of a call is added to it, so it cannot have one
 * already.
 */
export function apiRoot(value: string): string | null {
  const message = httpUrl(value);
  if (message !== null) return message;
  const call = /\/(?:chat\/completions|completions|messages|responses)\/*$/i.exec(new URL(value).pathname);
  return call === null ? null : `must be the root of the API: remove ${call[0]}, which Naru adds itself`;
}

/** The origin of pages: scheme, host and port. */
export function originUrl(value: string): string | null {
  const message = httpUrl(value);
  if (message !== null) return message;
  return new URL(value).pathname === '/'
    ? null
    : 'must be an origin without a path, such as https://naru.example.com';
}

/**
 * The root of an API that receives a credential, such as an OpenID issuer: the connection must be
 * encrypted.
 */
export function encryptedUrl(value: string): string | null {
  const message = httpUrl(value);
  if (message !== null || value.startsWith('https:')) return message;
  const host = new URL(value).hostname.replace(/^\[|\]$/g, '');
  return loopbackAddress(host) === null ? null : 'must begin with https://, except for a loopback address';
}

/** The URL of a web page. */
export function pageUrl(value: string): string | null {
  return /^https?:\/\//.test(value) && URL.canParse(value)
    ? null
    : 'must be a URL that begins with http:// or https://';
}

/** Certificates as PEM. */
export function certificates(value: string): string | null {
  const found = value.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const isRead = (pem: string): boolean => {
    try {
      return new X509Certificate(pem).fingerprint256 !== '';
    } catch {
      return false;
    }
  };
  return found.length > 0 && found.every(isRead)
    ? null
    : 'must be certificates in PEM; file:PATH reads them from a file';
}

/** One e-mail address, without a name. */
export function mailAddress(value: string): string | null {
  const isOne =
    value.length <= 254 && /^[^\s\p{C}@<>()",;:\\]{1,64}@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/iu.test(value);
  return isOne ? null : 'must be one e-mail address, such as naru@example.com';
}

/** The path of a request, such as `/health`. */
export function urlPath(value: string): string | null {
  return /^\/[\x21-\x7e]*$/.test(value) && !value.includes('#') ? null : 'must be a path that begins with /';
}

/** `author/slug` (spec:api/11.1): suffixed and router-prefixed ids do not exist. */
export function modelId(value: string): string | null {
  if (value.includes(':')) return 'must not contain a colon: variant suffixes do not exist';
  if (value === 'naru/auto' || value.startsWith('openrouter/'))
    return 'is reserved for routers, which do not exist';
  if (value.normalize('NFC') !== value) return 'must be in Unicode normal form C (NFC), as clients send it';
  const isPlain = /^[^\s\p{C}/?#%,"\\]{1,120}\/[^\s\p{C}/?#%,"\\]{1,120}$/u.test(value);
  return isPlain ? null : 'must look like author/slug, without spaces';
}

/** A URL, or a path, without slashes at its end. */
export function withoutSlash(url: string): string {
  return url.replace(/(?<!\/)\/+$/, '');
}
