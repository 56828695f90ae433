/** Every message that a rejection can have. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { refuse, renderRefusal } from '../../src/errors/catalogue.ts';
import {
  type Bilingual,
  type Message,
  messages,
  rejectReasons,
  requirements,
} from '../../src/errors/messages.ts';

/** Parameters for each entry of a table that is a function. */
type Samples<Table> = {
  [Name in keyof Table as Table[Name] extends (...parameters: never[]) => unknown
    ? Name
    : never]: Table[Name] extends (...parameters: infer P) => unknown ? P : never;
};

/** Parameters for each message; the longest ids, since a long message is cut. */
const parametersOfMessages: Samples<typeof messages> = {
  invalidApiKey: [],
  expiredApiKey: [],
  keySuspended: [],
  insufficientCredits: [],
  keyLimitExceeded: [],
  accountClosed: [],
  tooManyKeys: [100],
  tooManyRevokedKeys: [100],
  tooManyRequests: [],
  tooManyRequestsOfKey: [60],
  tooManyConnections: [],
  overloaded: [],
  internalError: [],
  databaseAway: [],
  serverStopping: [],
  noHostHeader: [],
  twoHostHeaders: [],
  notHttp: [],
  headTooLarge: [65_536],
  requestTooSlow: [],
  bodyTooSlow: [1_000],
  chunksTooSmall: [64],
  bodyTooDeep: [],
  bodyTooManyValues: [],
  bodyEncoding: ['compress'],
  bodyDamaged: ['gzip'],
  bodyNotUtf8: [],
  bodyNotJson: [],
  bodyNotObject: [],
  missing: ['messages[3].role'],
  unknownMember: ['provider.only2'],
  invalidValue: ['temperature', requirements.number(0, 2)],
  queryTooLong: [8_192],
  exclusiveFilters: [],
  windowTooLong: [366],
  noSuchPath: ['/api/v1/embeddings'],
  methodNotAllowed: ['POST', ['GET', 'HEAD']],
  noSuchKey: ['01234567…cdef'],
  noSuchModel: [],
  noSuchPageKey: [],
  noSuchPage: [],
  noSuchSession: [],
  noSuchPasskey: [],
  noSuchOperator: [],
  noSuchAccount: [],
  noSuchCandidate: [],
  noSuchSlot: [],
  noSuchApp: [],
  noSuchTopup: [],
  noSuchAnnouncement: [],
  noSuchPayment: [],
  noSuchQuarantined: [],
  noSuchGeneration: [],
  modelNotFound: ['m'.repeat(10_000)],
  modelNotAllowed: ['m'.repeat(500)],
  noModelMatches: ['m'.repeat(500)],
  noProviderMatches: ['m'.repeat(500)],
  noEndpointsFound: [['a/b', 'c/d'], Object.values(rejectReasons)],
  modelLoading: [],
  earlierRequestsTooSlow: [],
  upstreamTooSlow: [],
  upstreamIdle: [],
  responseTooSlow: [],
  rejectedUpstream: ['x'],
  upstreamsFailed: [],
  enginesFailed: [],
  upstreamBroke: [],
};

const parametersOfRequirements: Samples<typeof requirements> = {
  number: [0, 2],
  lastDay: [800],
  integer: [1, 128],
  minInteger: [1],
  maxLength: [500],
  eachMaxLength: [500],
  maxMembers: [100],
  maxEntries: [100],
  maxItems: [16],
  oneOf: [['a', 'b']],
  nullOrOneOf: [['a', 'b']],
  password: [10, 256],
  line: [100],
  allowedNames: [100],
  storableName: [500],
  minDate: ['2025-01-01'],
  notAfter: ['end_date'],
};

const allMessages = Object.entries(messages).map(
  ([name, make]) =>
    [
      name,
      (make as (...p: unknown[]) => Message)(...parametersOfMessages[name as keyof typeof messages]),
    ] as const,
);
const allRequirements = Object.entries(requirements).map(([name, entry]) => {
  if (typeof entry !== 'function') return [name, entry as Bilingual] as const;
  const parameters = parametersOfRequirements[name as keyof typeof parametersOfRequirements];
  return [name, (entry as (...p: unknown[]) => Bilingual)(...parameters)] as const;
});

const hangul = /[가-힣]/u;
/** A Korean sentence in the polite style, then an English one. */
const bilingual = /^[^\n]*[가-힣][^\n]*(?:다|요|[^가-힣\s])\. [^가-힣]*[a-z][^가-힣]*\.$/u;

// spec:errors/1.3
test('every message of a refusal is in Korean first, then in English', () => {
  assert.ok(allMessages.length > 40);
  for (const [name, text] of allMessages) {
    const rendered = renderRefusal(refuse('invalid_request', text)).body.error.message;
    if (name === 'noSuchPath') assert.doesNotMatch(rendered, hangul, name);
    else if (name === 'noSuchKey') assert.match(rendered, hangul, name);
    else assert.match(rendered, bilingual, name);
  }
});

test('every part of a message has both languages, and its Korean is polite', () => {
  const reasons = Object.entries<Bilingual>(rejectReasons);
  assert.ok(allRequirements.length > 20);
  assert.ok(reasons.length > 10);
  for (const [name, { ko, en }] of [...allRequirements, ...reasons]) {
    assert.match(ko, /니다(?:: [^가-힣]+)?$/u, name);
    assert.doesNotMatch(en, hangul, name);
    assert.match(en, /[a-zA-Z0-9`"}]$/, name);
  }
});

test('the errors of nginx have the messages of the table', () => {
  const conf = readFileSync(join(import.meta.dirname, '../../deploy/nginx.conf'), 'utf8');
  const found = [...conf.matchAll(/"code":(\d+),"message":"([^"]+)"/g)].map(([, code, text]) => [code, text]);
  assert.deepEqual(found.slice(0, 1), [['429', messages.tooManyRequests()]]);
  assert.deepEqual(found.slice(-2), [
    ['400', messages.notHttp()],
    ['500', messages.internalError()],
  ]);
  for (const [code, text = ''] of found) if (code !== '404') assert.match(text, bilingual, String(code));
});

test('a refusal takes its message from the table only', () => {
  // @ts-expect-error free text is not a message
  refuse('invalid_request', 'free text');
  const root = join(import.meta.dirname, '../../src');
  const users = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .filter((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return text.includes('new Refusal(') || /errors\/messages\.ts[\s\S]*\bas Message\b/.test(text);
    });
  // zod returns the messages of schemas as text.
  assert.deepEqual(users.sort(), ['errors/catalogue.ts', 'wire/parse-with.ts']);
});
