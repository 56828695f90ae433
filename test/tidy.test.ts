/**
 * Properties of the code itself, checked by reading it (after TigerBeetle's tidy.zig): layers,
 * cycles, words that have one home.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');

/**
 * From the ground up. A file imports from its own room and from the layers below; rooms of one
 * layer do not import each other.
 */
const layers: readonly (readonly string[])[] = [
  ['errors', 'money', 'time', 'ids', 'log', 'memory', 'metrics'],
  ['wire', 'config', 'journal'],
  ['store', 'dialects', 'http-client'],
  [
    'postgres',
    'accounts',
    'keys',
    'catalogue',
    'upstreams',
    'slots',
    'generations',
    'nodes',
    'datasets',
    'identity',
  ],
  ['ledger', 'analytics', 'spending', 'tracing', 'http', 'control', 'routing', 'metering'],
  ['inference', 'operations', 'backup'],
  ['api', 'pages'],
  ['app'],
  ['admin'],
  ['cli'],
  ['main.ts'],
];

const filesOf = (folder: string): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.tsx?$/.test(file),
  );
const files = filesOf('src');
const layerOf = new Map(layers.flatMap((rooms, layer) => rooms.map((room) => [room, layer] as const)));

/** The room of a file: its first folder; `main.ts` is the only file in `src` itself. */
function roomOf(file: string): string {
  const [first = ''] = file.split('/');
  return first;
}

function importsOf(file: string, text: string): readonly string[] {
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s+['"](\.[^'"]+)['"]|import\(\s*['"](\.[^'"]+)['"]\s*\)/g,
  );
  return [...found].map((match) => relative('src', join('src', dirname(file), match[1] ?? match[2] ?? '')));
}

/** Imports that go up or sideways, as `from -> to`. */
function wrongImports(file: string, text: string): readonly string[] {
  const from = roomOf(file);
  return importsOf(file, text)
    .filter((target) => {
      const to = roomOf(target);
      return to !== from && (layerOf.get(to) ?? Number.POSITIVE_INFINITY) >= (layerOf.get(from) ?? -1);
    })
    .map((target) => `${file} -> ${target}`);
}

interface Source {
  readonly file: string;
  readonly text: string;
}
const readAll = (folder: string): readonly Source[] =>
  filesOf(folder).map((file) => ({ file, text: readFileSync(join(root, folder, file), 'utf8') }));
const sources = readAll('src');
const webSources = readAll('web/src');

test('the guard reads the files and can fail', () => {
  assert.ok(files.length > 80, `${files.length} files`);
  assert.ok(sources.flatMap(({ file, text }) => importsOf(file, text)).length > 200);
  assert.deepEqual(wrongImports('store/x.ts', "import { a } from '../keys/key.ts';"), [
    'store/x.ts -> keys/key.ts',
  ]);
  assert.deepEqual(wrongImports('keys/x.ts', "import type { a } from '../ledger/credit.ts';"), [
    'keys/x.ts -> ledger/credit.ts',
  ]);
  assert.deepEqual(wrongImports('keys/x.ts', "import { a } from '../store/keys.ts';"), []);
});

test('every import goes down the layers', () => {
  assert.deepEqual(
    sources.flatMap(({ file, text }) => wrongImports(file, text)),
    [],
  );
});

test('every room is on a layer', () => {
  assert.deepEqual(
    [...new Set(files.map(roomOf))].filter((room) => !layerOf.has(room)),
    [],
  );
});

test('only rooms use the store', () => {
  const above = ['http', 'inference', 'routing', 'metering', 'control', 'api', 'cli'];
  const wrong = sources
    .filter(({ file }) => above.includes(roomOf(file)))
    .flatMap(({ file, text }) =>
      importsOf(file, text)
        .filter((target) => roomOf(target) === 'store')
        .map((target) => `${file} -> ${target}`),
    );
  assert.deepEqual(wrong, []);
});

/** What is read before an `await` and written after it undoes what others wrote meanwhile. */
const readsBeforeAwait = /[-+*]= \(?await|\.\.\.this\.[\w#.]+,\s*\.\.\.\(?await/;

test('no sum and no copy of an object is begun before an await and stored after it', () => {
  for (const text of ['sum += await next();', 'this.#a = {\n  ...this.#a,\n  ...(await next()) };'])
    assert.match(text, readsBeforeAwait);
  assert.deepEqual(
    sources.filter(({ text }) => readsBeforeAwait.test(text)).map(({ file }) => file),
    [],
  );
});

/**
 * Such a function is allocated in the old generation, since V8 takes it for a method, and keeps what
 * it refers to until the next full collection: a request, its body and its call
 * (docs/decisions/old-generation.md). Assigned to a name first, it dies with them.
 */
const assignsFunction =
  /(\.#?\w+|\w\[[^\]'"]+\])\s*(\?\?)?=\s*\(*(async\s+)?(function\b|\w+\s*=>|\((?:[^()]|\([^()]*\))*\)(:\s*[^={;]+)?\s*=>)/;

test('no function literal is assigned to a property', () => {
  const literals = [
    'this.#end = () => {',
    'run.f ??= async (a: (b: C) => D): Promise<E> => {',
    'a[b] = (function',
  ];
  for (const literal of literals) assert.match(literal, assignsFunction);
  for (const other of ['const f = () => {', 'this.#end = end;', 'if (a.b === (c)) d((e) => f)'])
    assert.doesNotMatch(other, assignsFunction);
  const found = sources.flatMap(({ file, text }) => {
    const match = assignsFunction.exec(text);
    return match === null ? [] : [`${file}: ${match[0]}`];
  });
  assert.deepEqual(found, []);
});

/** The cycles of the imports, as `a -> b -> a`. */
function circlesOf(all: readonly Source[]): readonly string[] {
  const graph = new Map(all.map(({ file, text }) => [file, importsOf(file, text)] as const));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
    if (done.has(file) || path.includes(file)) return;
    for (const target of graph.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return circles;
}

test('imports form no cycle, in the server and in the web', () => {
  const text = "import { x } from './a.ts';";
  assert.deepEqual(circlesOf([{ file: 'a.ts', text }]), ['a.ts -> a.ts']);
  assert.deepEqual([...circlesOf(sources), ...circlesOf(webSources)], []);
});

test('the web imports one type of the server, and none of its code', () => {
  const found = webSources.flatMap(({ text }) => text.match(/^.*['"](?:\.\.\/)+src\/.*$/gm) ?? []);
  assert.deepEqual(found, ["import type { PageApi } from '../../../src/pages/page-api.ts';"]);
});

/** A statement at the start of a text in quotes. */
const sqlText =
  /['"`]\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|CREATE|ALTER|DROP|TRUNCATE|LOCK|COPY|LISTEN|NOTIFY|BEGIN|COMMIT|ROLLBACK|SAVEPOINT)\b(?=[\s'"`;])/;

/** Rooms that may have SQL in any file. */
const sqlRooms = ['store', 'postgres'];

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
}

test('SQL is in a `*-sql.ts` file of its room, in store/ or in postgres/', () => {
  assert.match("query('SELECT 1')", sqlText);
  assert.match('query(`\n  UPDATE account SET x = 1`)', sqlText);
  assert.match("query('COMMIT')", sqlText);
  assert.doesNotMatch("method: 'DELETE'", sqlText);
  assert.doesNotMatch(withoutComments("// 'SELECT 1' and /* `COMMIT` */"), sqlText);
  const wrong = sources
    .filter(({ file }) => !/-sql\.ts$/.test(file) && !sqlRooms.includes(roomOf(file)))
    .flatMap(({ file, text }) => {
      const found = sqlText.exec(withoutComments(text));
      return found === null ? [] : [`${file}: ${found[0]}`];
    });
  assert.deepEqual(wrong, []);
});

/** Words that may occur in one file only, and which. */
const banned: readonly { readonly word: RegExp; readonly home: RegExp; readonly instead: string }[] = [
  { word: /\bDate\.now\(/, home: /^time\/clock\.ts$/, instead: 'take a Clock' },
  { word: /\bperformance\.now\(/, home: /^time\/clock\.ts$/, instead: 'take a Clock' },
  { word: /\bconsole\./, home: /^$/, instead: 'take a Log' },
  {
    word: /\bprocess\.(?:env|exit|argv|std\w+|pid|ppid|cwd|on|off|kill|platform|arch|\w*uid|execPath|hrtime|memoryUsage|nextTick)\b|from 'node:process'/,
    home: /^main\.ts$/,
    instead: 'take what is needed as a parameter',
  },
  { word: /from 'prom-client'/, home: /^app\/metrics\//, instead: 'report to src/metrics/observers.ts' },
  {
    word: /\bfetch\(|(?:from|import\() ?'undici'/,
    home: /^upstreams\//,
    instead: 'call an upstream by upstreams/call.ts, anything else by http-client/',
  },
  {
    word: /import \{[^}]*\b(?:request|get)\b[^}]*\} from 'node:https?'/,
    home: /^http-client\//,
    instead: 'use http-client/request.ts',
  },
  { word: /\bMath\.random\(/, home: /^$/, instead: 'take random bytes from node:crypto' },
  { word: /:\s*any\b|<any>|as any\b/, home: /^http\/route\.ts$/, instead: 'state the type' },
  { word: /\b(?:TODO|FIXME|XXX)\b/, home: /^$/, instead: 'do it, or write it down where it will be read' },
];

test('restricted names occur only in the files that may use them', () => {
  const code = (text: string): string =>
    text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, (comment) => (/TODO|FIXME|XXX/.test(comment) ? comment : ''));
  const wrong = sources.flatMap(({ file, text }) =>
    banned
      .filter(({ word, home }) => !home.test(file) && word.test(code(text)))
      .map(({ word, instead }) => `${file}: ${word.source}: ${instead}`),
  );
  assert.deepEqual(wrong, []);
});

test('every advisory lock of the database has its own number', () => {
  const numbers = sources.flatMap(({ text }) => text.match(/\b7_236_482_\d{3}\b/g) ?? []);
  assert.ok(numbers.length > 5);
  assert.deepEqual(
    numbers.filter((number, at) => numbers.indexOf(number) !== at),
    [],
  );
});

test('a status is paired with an error type in the catalogue only', () => {
  const wrong = sources
    .filter(({ file, text }) => !file.startsWith('errors/') && /error_type:\s*'/.test(text))
    .map(({ file }) => file);
  assert.deepEqual(wrong, []);
});

/**
 * Identifiers that the standard terms replaced (ARCHITECTURE.md, Glossary); the right side is the
 * term.
 */
const replaced: Readonly<Record<string, string>> = {
  Surroundings: 'ProcessContext',
  around: 'proc',
  Books: 'Accounting',
  openBooks: 'openAccounting',
  Office: 'OperatorService',
  office: 'operator',
  KeyDesk: 'KeyService',
  SlotDesk: 'SlotAdmin',
  Offer: 'LiveCatalog',
  Funds: 'SpendLimits',
  Spender: 'SpendSubject',
  readLeft: 'readRemaining',
  placeWith: 'reserveWith',
  SpendShares: 'CreditLeases',
  Demand: 'ReservationRequest',
  Covered: 'ReservationResult',
  plead: 'requestRelease',
  yieldTo: 'releaseExcess',
  giveBackIdle: 'releaseIdle',
  exposure: 'outstanding',
  Hearing: 'StreamDecoder',
  EventHearing: 'SseStreamDecoder',
  PartHearing: 'SdkStreamDecoder',
  Heard: 'DecodedEvent',
  Unsayable: 'UnsupportedRequest',
  WrittenAsk: 'EncodedRequest',
  readReason: 'parseErrorMessage',
  Ask: 'CompletionRequest',
  AskKind: 'CompletionKind',
  readAsk: 'parseCompletionRequest',
  Asked: 'RequestContext',
  Asker: 'Caller',
  Answered: 'OpenResponse',
  Answering: 'ResponseContext',
  openLine: 'acquireTarget',
  Callers: 'TargetResolver',
  Patience: 'ConnectionTimeouts or Cancellation',
  onLost: 'onCancel',
  UpstreamBroke: 'UpstreamStreamError',
  GivenUp: 'RequestAborted',
  ClientLeft: 'ClientDisconnected',
  believe: 'reconcileUsage',
  Believed: 'ReconciledUsage',
  Tally: 'ResponseTotals',
  spoke: 'hasContent or responded',
  Fold: 'ChunkAggregator',
  whyNot: 'rejectReason',
  Dropped: 'RejectReason',
  droppedWords: 'rejectMessages',
  whyLater: 'demotionReason',
  Held: 'DemotionReason',
  Basis: 'OrderingBasis',
  Circumstances: 'RoutingContext',
  Standing: 'HealthStatus',
  Spread: 'PercentileWindow',
  unmeasured: 'noHealthData',
  Keeper: 'SlotEventLoop',
  happen: 'dispatch',
  FleetHappening: 'FleetEvent',
  applicants: 'waitingReplicas',
  neverFits: 'exceedsBudget',
  rejudge: 'reschedule',
  Turn: 'ReducerContext',
  Lanes: 'SlotAcquirer',
  WorkerOrder: 'WorkerStartMessage',
  WorkerTeam: 'WorkerSupervisor',
  packConfig: 'encodeConfig',
  lendLanes: 'serveSlots',
  lendRate: 'serveRateLimit',
  lanesOfParent: 'remoteSlots',
  rateOfParent: 'remoteRateLimit',
  holdDataDir: 'lockDataDir',
  DataDirHeld: 'DataDirLockedError',
  holdHome: 'lockWorkerDir',
  bringUp: 'ensureRunning',
  takeOverOrOutlive: 'adoptOrWait',
  occupantOf: 'findRunningServer',
  askWho: 'identifyServer',
  troubleFrom: 'embeddedError',
  Site: 'ClusterContext',
  Shelf: 'SegmentPool',
  putAway: 'releaseSegment',
  Remembered: 'ClockCache',
  isNeeded: 'isPinned',
  letGo: 'unpin',
  KeyRing: 'KeyCache',
  AccountBook: 'AccountCache',
  peek: 'getCached',
  refreshDoubtful: 'refreshStale',
  OrderedLine: 'SerialConnection',
  Edition: 'PricePublication',
  onTheWay: 'pending',
  diedWith: 'orphanFailure',
  sayAgain: 'rewrite',
  Places: 'SourceMap',
  orElse: 'withDefault',
  section: 'object',
  Facts: 'ModelMetadata',
  plainWords: 'sanitizeMessage',
  LogWish: 'LogQuery',
  CallWishes: 'ProviderCallOptions',
  ReasoningWish: 'ReasoningOptions',
  Speech: 'SdkCall',
  Idiom: 'ProviderQuirks',
  heardMs: 'lastActivityMs',
  untilAccepted: 'stopListening',
  told: 'reported',
  said: 'response',
  heard: 'received',
  nobody: 'none',
  whoever: 'the actor',
  anew: 'again',
};
/** Words that no part of an identifier is: `askServer` and `isAsked` as little as `ask`. */
const replacedParts: Readonly<Record<string, string>> = {
  ask: 'request, query or send',
  asks: 'request, query or send',
  asked: 'requested',
  asking: 'pending',
  asker: 'caller',
  answered: 'responded',
  answering: 'responding',
  told: 'reported',
  said: 'response',
  hear: 'receive',
  hears: 'receives',
  heard: 'received',
  hearing: 'decoder',
  nobody: 'none',
  whoever: 'the actor',
  anew: 'again',
  wish: 'options',
  wishes: 'options',
  plead: 'request',
  spender: 'subject',
  exposure: 'outstanding',
  desk: 'service',
  books: 'accounting or ledger',
  babble: 'noise',
  dice: 'rng',
};
/** Members of JSON output and a column: outside contract and stored data (layout-and-names.md). */
const allowedNames = new Set(['asks', 'asked_model', 'asked_at']);
/** A limit is `maxX` or `minX`, with the unit last; a default is `defaultX`. */
const oddLimit = /^(?:most|largest|longest|least|usual)[A-Z]/;

/**
 * A source text without its comments and the text of its strings; what a template interpolates
 * stays.
 */
function codeOf(text: string): string {
  const inCode = /\/\*[\s\S]*?\*\/|\/\/.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|[`{}]/g;
  const inTemplate = /`|\$\{|\\./g;
  const open: ('template' | 'block')[] = [];
  let code = '';
  for (let from = 0; ; ) {
    const isText = open.at(-1) === 'template';
    const next = isText ? inTemplate : inCode;
    next.lastIndex = from;
    const found = next.exec(text);
    if (!isText) code += `${text.slice(from, found?.index)} `;
    if (found === null) return code;
    const [piece] = found;
    from = next.lastIndex;
    if (piece === '}' || (piece === '`' && isText)) open.pop();
    else if (piece === '`') open.push('template');
    else if (piece === '{' || piece === '${') open.push('block');
  }
}

function namesIn(text: string): ReadonlySet<string> {
  return new Set([...codeOf(text).matchAll(/(?<![\w$])[A-Za-z_$][\w$]*/g)].map(([name]) => name));
}

/** The replaced word in a name; null when there is none. */
function partOf(name: string): string | null {
  if (allowedNames.has(name)) return null;
  const parts = name.split(/(?=[A-Z])|_/).map((part) => part.toLowerCase());
  return parts.find((part) => Object.hasOwn(replacedParts, part)) ?? null;
}

function replacedIn(text: string): readonly string[] {
  return [...namesIn(text)].filter(
    (name) => Object.hasOwn(replaced, name) || partOf(name) !== null || oddLimit.test(name),
  );
}

test('the guard of names finds a replaced one, and none in comments and strings', () => {
  assert.deepEqual(replacedIn('const largestBytes = 1; class Keeper {} // whoever'), [
    'largestBytes',
    'Keeper',
  ]);
  assert.deepEqual(replacedIn('isAsked(); const { askServer, task, basket, masked } = hearsChild.asks;'), [
    'isAsked',
    'askServer',
    'hearsChild',
  ]);
  assert.deepEqual(replacedIn("const text = 'said'; /* told */ const least = 1;"), []);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source text of a template.
  assert.deepEqual(replacedIn('const a = `told ${`said ${heard}`} nobody`; const { b } = anew;'), [
    'heard',
    'anew',
  ]);
});

/** Tests, benches, scripts and the demo model use the same terms. */
const others = ['test', 'bench', 'scripts', 'demo-engine', 'tools'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && file !== 'tidy.test.ts')
    .map((file) => ({ file: `${folder}/${file}`, text: readFileSync(join(root, folder, file), 'utf8') })),
);

test('no identifier is a name that a standard term replaced', () => {
  const instead = (name: string): string =>
    replaced[name] ?? replacedParts[partOf(name) ?? ''] ?? 'maxX, minX or defaultX';
  const inSources = sources.flatMap(({ file, text }) => replacedIn(text).map((name) => ({ file, name })));
  const inOthers = others.flatMap(({ file, text }) =>
    [...namesIn(text)].filter((name) => partOf(name) !== null).map((name) => ({ file, name })),
  );
  assert.deepEqual(
    [...inSources, ...inOthers].map(({ file, name }) => `${file}: ${name}: use ${instead(name)}`),
    [],
  );
});

/** Calls of fast-check that draw by chance, as they are written. */
function unseededIn(text: string): readonly string[] {
  return [...text.matchAll(/\bfc\.(?:assert|sample)\(/g)]
    .map(({ 0: call, index }) => text.slice(index, closingAt(text, index + call.length) + 1))
    .filter((call) => !/\bseed\b/.test(call));
}

/** Where the parenthesis ends inside of which `from` is. */
function closingAt(text: string, from: number): number {
  let depth = 1;
  let at = from;
  for (; depth > 0 && at < text.length; at += 1) depth += text[at] === '(' ? 1 : text[at] === ')' ? -1 : 0;
  return at - 1;
}

test('what tests draw follows from the seed of the run', () => {
  assert.deepEqual(unseededIn('for (const one of fc.sample(any(), 10)) {'), ['fc.sample(any(), 10)']);
  assert.deepEqual(unseededIn('fc.assert(fc.property(any, holds), { seed: testSeed });'), []);
  const wrong = others.flatMap(({ file, text }) => unseededIn(text).map((call) => `${file}: ${call}`));
  assert.deepEqual(wrong, []);
});
