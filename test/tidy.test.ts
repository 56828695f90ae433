/**
 * Properties of the code itself, checked by reading it (after TigerBeetle's tidy.zig): layers,
 * cycles, SQL, clocks and streams.
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
  ['errors', 'money', 'time', 'memory'],
  ['log', 'metrics', 'config'],
  ['wire'],
  ['store', 'dialects', 'http'],
  ['postgres', 'nodes'],
  ['accounts', 'catalogue', 'upstreams', 'slots', 'generations', 'datasets', 'identity'],
  ['messages'],
  ['ledger', 'routing', 'metering'],
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
  assert.deepEqual(wrongImports('store/x.ts', "import { a } from '../accounts/key.ts';"), [
    'store/x.ts -> accounts/key.ts',
  ]);
  assert.deepEqual(wrongImports('accounts/x.ts', "import type { a } from '../ledger/credit.ts';"), [
    'accounts/x.ts -> ledger/credit.ts',
  ]);
  assert.deepEqual(wrongImports('accounts/x.ts', "import { a } from '../store/keys.ts';"), []);
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
  const above = ['http', 'inference', 'routing', 'metering', 'api', 'cli'];
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
const roomsOfCall = ['http', 'api', 'wire', 'inference', 'dialects', 'upstreams', 'metering', 'routing'];

const assignsFunction =
  /(\.#?\w+|\w\[[^\]'"]+\])\s*(\?\?)?=\s*\(*(async\s+)?(function\b|\w+\s*=>|\((?:[^()]|\([^()]*\))*\)(:\s*[^={;]+)?\s*=>)/;

test('on the path of a call no function literal is assigned to a property', () => {
  const literals = [
    'this.#end = () => {',
    'run.f ??= async (a: (b: C) => D): Promise<E> => {',
    'a[b] = (function',
  ];
  for (const literal of literals) assert.match(literal, assignsFunction);
  for (const other of ['const f = () => {', 'this.#end = end;', 'if (a.b === (c)) d((e) => f)'])
    assert.doesNotMatch(other, assignsFunction);
  const found = sources.flatMap(({ file, text }) => {
    if (!roomsOfCall.includes(roomOf(file))) return [];
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

/** What one place has, and which. */
const single: readonly { readonly word: RegExp; readonly home: RegExp; readonly instead: string }[] = [
  { word: /\b(?:Date|performance)\.now\(/, home: /^time\/clock\.ts$/, instead: 'take a Clock' },
  { word: /\bconsole\./, home: /^$/, instead: 'take a Log' },
  {
    word: /\bprocess\.(?:env|exit|argv|std\w+|pid|ppid|cwd|on|off|kill|platform|arch|\w*uid|execPath|hrtime|memoryUsage|nextTick)\b|from 'node:process'/,
    home: /^main\.ts$/,
    instead: 'take what is needed as a parameter',
  },
];

test('clocks, streams and the process have one place each', () => {
  const wrong = sources.flatMap(({ file, text }) =>
    single
      .filter(({ word, home }) => !home.test(file) && word.test(withoutComments(text)))
      .map(({ word, instead }) => `${file}: ${word.source}: ${instead}`),
  );
  assert.deepEqual(wrong, []);
});

/** The command that distributes a database, and shows how it is. */
const ofDistribution = ['admin/distribute.ts', 'cli/commands/database.ts'];

test('no room asks whether accounts are on several servers, but the placement', () => {
  const asks = /citus|pg_dist_|isDistributed|placement\.parts (?:[=!]==|[<>])/i;
  assert.match('if (placement.parts === 1)', asks);
  const wrong = sources
    .filter(({ file }) => !file.startsWith('store/placement/') && !ofDistribution.includes(file))
    .filter(
      ({ file, text }) =>
        asks.test(withoutComments(text)) ||
        importsOf(file, text).some(
          (target) =>
            target.startsWith('store/placement/') &&
            target !== 'store/placement/placement.ts' &&
            roomOf(file) !== 'store',
        ),
    );
  assert.deepEqual(
    wrong.map(({ file }) => file),
    [],
  );
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

const others = ['test', 'bench', 'scripts', 'demo-engine', 'tools'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && file !== 'tidy.test.ts')
    .map((file) => ({ file: `${folder}/${file}`, text: readFileSync(join(root, folder, file), 'utf8') })),
);

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
