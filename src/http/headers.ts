/** Flat name, value pairs: the form in which Node writes a head fastest. */
export type HeaderList = readonly string[];

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
export function commonHeaders(requestId: string): HeaderList {
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

/** A record of headers as a flat list. */
export function flat(headers: Readonly<Record<string, string>> | undefined): HeaderList {
  return headers === undefined ? [] : Object.entries(headers).flat();
}
