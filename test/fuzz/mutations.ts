import { METHODS } from 'node:http';
import { between, type Random } from '../chaos/orders.ts';
import type { Drawn } from './draw.ts';
import { chance, hostileValue, pick, strings } from './values.ts';

/** One way to make a request invalid, or unusual. */
export type Mutation = (random: Random, drawn: Drawn) => Drawn;

const mutateCredential: Mutation = (random, drawn) => ({
  ...drawn,
  credential: pick(random, credentialKinds),
});

const credentialKinds = [
  'inference',
  'management',
  'none',
  'unknown',
  'malformed',
  'basic',
  'two words',
  'no credit',
  'at its limit',
  'expired',
  'suspended',
  'revoked',
  'off',
  'fuzzed',
];

const mutateMethod: Mutation = (random, drawn) => ({
  ...drawn,
  // CONNECT opens a tunnel, and is tested where raw bytes are.
  method: pick(random, ['HEAD', 'OPTIONS', 'PUT', ...METHODS.filter((method) => method !== 'CONNECT')]),
});

const mutatePath: Mutation = (random, drawn) => {
  const { path } = drawn;
  const make = pick(random, [
    () => `${path}/`,
    () => `${path}//`,
    () => `${path}/${encodeURIComponent(pick(random, strings).toWellFormed())}`,
    () => path.replace(/[^/]+$/, (last) => encodeURIComponent(pick(random, strings).toWellFormed()) || last),
    () =>
      path.replace(/(?<=\/v1\/.*)[a-z]/g, (letter) =>
        chance(random, 10) ? `%${letter.charCodeAt(0).toString(16)}` : letter,
      ),
    () => path.replace('/api/v1/', '/api/v1//'),
    () => path.replace('/api/v1/', '/api/v1/./'),
    () => path.replace('/api/v1/', '/api/v1/x/../'),
    () => `${path}%00`,
    () => `${path}%zz`,
    () => `${path};jsessionid=1`,
    () => `${path}\\..`,
    () => path.toUpperCase(),
    () => `http://evil.example${path}`,
    () => path.slice(0, -1) || '/',
    () => `${path}/${'a'.repeat(8000)}`,
    () => '*',
  ]);
  const made = make();
  return {
    ...drawn,
    path: made,
    unreadable: drawn.unreadable || !/^(?:\/|http:\/\/evil\.example\/|\*$)/.test(made),
  };
};

const mutateQuery: Mutation = (random, drawn) => {
  const names = [...drawn.operation.parameters.map((each) => each.name), 'limit', 'unknown', '__proto__', ''];
  const value = (): string => {
    const hostile = hostileValue(random);
    const text = typeof hostile === 'object' ? JSON.stringify(hostile) : String(hostile);
    return chance(random, 80)
      ? encodeURIComponent(text.toWellFormed()).slice(0, 6000)
      : pick(random, oddlyEncoded);
  };
  const extra = Array.from({ length: between(random, 1, 3) }, () => `${pick(random, names)}=${value()}`);
  return {
    ...drawn,
    query: chance(random, 30) ? [...drawn.query, ...drawn.query, ...extra] : [...drawn.query, ...extra],
  };
};

const oddlyEncoded = [
  '%',
  '%2',
  '%zz',
  '%00',
  '%C0%AF',
  '%ED%A0%80',
  '%ff',
  '+',
  '%2B',
  '[]=1',
  '%F0%9F',
  '&&',
  '==',
  '?',
];

const mutateMember: Mutation = (random, drawn) => {
  if (drawn.body === null || Buffer.isBuffer(drawn.body)) return mutateQuery(random, drawn);
  const body = structuredClone(drawn.body) as Record<string, unknown>;
  spoil(random, body, drawn.operation.body?.properties ?? {});
  return { ...drawn, body };
};

/** Inserts a hostile value somewhere into a tree, or removes a member. */
function spoil(random: Random, at: Record<string, unknown>, properties: object): void {
  const inner = Object.values(at).filter(isTree);
  const [deeper] = inner.length > 0 && chance(random, 50) ? [pick(random, inner)] : [];
  if (deeper !== undefined) {
    spoil(random, deeper, {});
    return;
  }
  const names = [...Object.keys(at), ...Object.keys(properties), '__proto__', pick(random, strings)];
  const name = pick(random, names);
  if (chance(random, 20)) delete at[name];
  else
    Object.defineProperty(at, name, {
      value: hostileValue(random),
      enumerable: true,
      configurable: true,
      writable: true,
    });
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

const mutateText: Mutation = (random, drawn) => {
  const text = Buffer.isBuffer(drawn.body) ? drawn.body.toString('latin1') : JSON.stringify(drawn.body ?? {});
  const make: () => string | Buffer = pick(random, [
    () => text.slice(0, between(random, 0, text.length)),
    () => `${text}${pick(random, ['x', '{}', ',', '\0', ']'])}`,
    () => `\ufeff${text}`,
    () => Buffer.from(text, 'utf16le'),
    () => Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from([0xff, 0xfe, 0xc0, 0x80])]),
    () => Buffer.from(text.replace(/"(\w)/, '"\xff$1'), 'latin1'),
    () => text.replace('{', '{"model":"test/nothing","name":1,"__proto__":{"x":1},'),
    () => text.replace('{', `{"a":${'['.repeat(200)}${']'.repeat(200)},`),
    () => text.replace('{', '{"n":1e400,"max_tokens":-0,"limit":1e999,"seed":00012,'),
    () => text.replace('{', '{"max_tokens":9007199254740993,"limit":0.0000001,'),
    () => text.replace('{', '{"user":"\\ud800","\\udc00":"\\u0000",'),
    () => text.replaceAll('"', "'"),
    () => text.replace('{', '{/* comment */'),
    () => `[${text}]`,
    () => pick(random, ['null', 'true', '0', '"text"', '[]', '{}', '', ' ', 'NaN', '{"a"', '\0']),
    () => `${'['.repeat(5000)}`,
    () => `{${Array.from({ length: 5000 }, (_, n) => `"k${n}":${n}`).join(',')}}`,
    () => text.replace('{', `{"padding":"${'x'.repeat(300_000)}",`),
  ]);
  return { ...drawn, body: Buffer.from(make() as string) };
};

const mutateHeaders: Mutation = (random, drawn) => {
  const value = (): string =>
    pick(random, [...strings, 'x'.repeat(16_000)])
      .replaceAll(/\p{Cc}/gu, '?')
      .toWellFormed();
  const make = pick(random, [
    () =>
      `content-type: ${pick(random, ['text/plain', 'multipart/form-data', 'application/x-www-form-urlencoded', '', 'a/b;'.repeat(50)])}`,
    () => `accept: ${pick(random, ['text/html', 'text/event-stream', '*/*;q=0', '', 'application/xml'])}`,
    () => `accept-encoding: gzip, br;q=0, *;q=0`,
    () => `content-encoding: gzip`,
    () => `http-referer: ${value()}`,
    () => `referer: ${value()}`,
    () => `x-service-title: ${value()}`,
    () => `x-title: ${value()}`,
    () => `user-agent: ${value()}`,
    () => `x-forwarded-for: ${pick(random, ['1.2.3.4', '::1', ',,,', 'unknown', value()])}`,
    () => `x-service-request-id: ${value()}`,
    () => `x-http-method-override: DELETE`,
    () => `if-none-match: *`,
    () => `range: bytes=0-1`,
    () => `expect: 100-continue`,
    () => `cookie: ${value()}`,
    () => `upgrade: websocket`,
    () => `x-many: ${'a,'.repeat(2000)}`,
    () => `__proto__: x`,
    () => `origin: null`,
  ]);
  return { ...drawn, headers: [...drawn.headers, make()] };
};

/** What Node's parser may reject before our code runs. */
const mutateHead: Mutation = (random, drawn) => {
  // Without a body, waiting for an announced body is right.
  const another = drawn.body === null ? [] : [`content-length: 5`, `transfer-encoding: identity, chunked`];
  const line = pick(random, [
    `x-nul: a\0b`,
    ` folded: value`,
    `no colon here`,
    `x-space : value`,
    `x-control: \x01\x02`,
    ...another,
    `content-length: -1`,
    `content-length: 1e3`,
    `transfer-encoding: gzip`,
    `authorization: Bearer \x00`,
    `: empty`,
    `x-huge: ${'h'.repeat(70_000)}`,
  ]);
  return { ...drawn, headers: [...drawn.headers, line], unreadable: true };
};

const mutateFraming: Mutation = (_random, drawn) => ({ ...drawn, framing: 'chunked' });

/** All of them, the fruitful ones more often. */
export const mutations: readonly Mutation[] = [
  mutateCredential,
  mutateCredential,
  mutateMethod,
  mutatePath,
  mutatePath,
  mutateQuery,
  mutateQuery,
  mutateMember,
  mutateMember,
  mutateMember,
  mutateText,
  mutateHeaders,
  mutateHeaders,
  mutateHead,
  mutateFraming,
];
