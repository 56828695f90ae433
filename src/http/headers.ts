/** Flat name, value pairs: the form in which Node writes a head fastest. */
export type HeaderList = readonly string[];

/** A list that is being built. */
export type MutableHeaderList = string[];

const exposed = [
  'X-Service-Currency',
  'X-Service-Request-Id',
  'X-Service-Generation-Id',
  'X-Service-Model',
  'X-Service-Provider',
  'X-Generation-Id',
  'x-request-id',
  'Retry-After',
  'x-should-retry',
].join(', ');

/** Headers of every response (spec:api/4): currency, request id, and those that browsers need. */
export function commonHeaders(requestId: string): MutableHeaderList {
  return [
    'X-Service-Currency',
    'KRW',
    'X-Service-Request-Id',
    requestId,
    'x-request-id',
    requestId,
    'X-Content-Type-Options',
    'nosniff',
    'Access-Control-Allow-Origin',
    '*',
    'Access-Control-Expose-Headers',
    exposed,
  ];
}

/** Response headers of a CORS preflight, in addition to `Allow` (spec:api/4.7). */
export function preflightHeaders(allow: readonly string[]): HeaderList {
  return [
    'Allow',
    allow.join(', '),
    'Access-Control-Allow-Methods',
    allow.join(', '),
    'Access-Control-Allow-Headers',
    'Authorization, Content-Type, HTTP-Referer, X-Service-Title, X-OpenRouter-Title, X-Title, X-Session-Id, X-Stainless-*, User-Agent, *',
    'Access-Control-Max-Age',
    '86400',
  ];
}

/** Appends the headers of a record. */
export function addHeaders(list: MutableHeaderList, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) list.push(name, headers[name] ?? '');
}
