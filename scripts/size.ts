/**
 * `npm run check -- --size`: how large the house is, beside what it should be at most. Counts the
 * files that git knows; fails when a limited document has too many words.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Files that a command writes; lockfiles are not counted. */
const generated = /(\.gen\.ts|\/openapi\.json|naru\.schema\.json|^data\/model-metadata\.json|\/schema\.txt)$/;
/** Internals of the runtime and of packages. */
const internals = /\b_handle\b|\._read\b|--expose-gc|from '[\w@][\w@/-]*\/lib\/|\/proc\/net\/tcp/g;

/** A document or a folder of documents with its maximum of words. */
const documentLimits: readonly (readonly [title: string, files: RegExp, maxWords: number])[] = [
  ['README.md', /^README\.md$/, 700],
  ['ARCHITECTURE.md', /^ARCHITECTURE\.md$/, 1500],
  ['SECURITY.md', /^SECURITY\.md$/, 1500],
  ['the longest decision', /^docs\/decisions\/(?!README)/, 400],
];
const maxAllWords = 60_000;

function linesOf(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + read(file).split('\n').length - 1, 0);
}

function wordsOf(file: string): number {
  return read(file).split(/\s+/).filter(Boolean).length;
}

/** The files of `src/` that a file needs when it runs: its imports of values, and theirs. */
function importedBy(file: string, seen: Set<string> = new Set()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, names = '', path = ''] of read(file).matchAll(
    /^(?:im|ex)port (?!type\b)([^'"]*?)from '(\.[^']+)'/gm,
  )) {
    const members =
      /\{([^}]*)\}/
        .exec(names)?.[1]
        ?.split(',')
        .filter((name) => name.trim() !== '') ?? [];
    if (members.length > 0 && members.every((name) => /^\s*type /.test(name))) continue;
    importedBy(join(dirname(file), path), seen);
  }
  return seen;
}

interface Measure {
  readonly what: string;
  readonly found: number;
  readonly max: number;
}

function measures(): readonly Measure[] {
  const code = (folder: RegExp): readonly string[] =>
    tracked.filter((file) => folder.test(file) && /\.(ts|tsx|mts|mjs)$/.test(file));
  const documents = tracked.filter((file) => file.endsWith('.md'));
  const src = code(/^src\//);
  return [
    { what: 'lines of src/', found: linesOf(src), max: 60_000 },
    { what: 'lines of test/ and bench/', found: linesOf(code(/^(test|bench)\//)), max: 80_000 },
    {
      what: 'generated lines in git',
      found: linesOf(tracked.filter((file) => generated.test(file))),
      max: 6_000,
    },
    {
      what: 'files that the path of a call imports (inference/inference.ts)',
      found: importedBy('src/inference/inference.ts').size,
      max: 70,
    },
    {
      what: 'rooms of src/',
      found: readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
        .length,
      max: 32,
    },
    { what: 'files of src/app/', found: code(/^src\/app\//).length, max: 50 },
    {
      what: 'uses of internals in src/',
      found: src.reduce((sum, file) => sum + (read(file).match(internals)?.length ?? 0), 0),
      max: 0,
    },
    {
      what: 'words of all .md',
      found: documents.reduce((sum, file) => sum + wordsOf(file), 0),
      max: maxAllWords,
    },
    ...documentLimits.map(([title, files, max]) => ({
      what: `words of ${title}`,
      found: Math.max(0, ...documents.filter((file) => files.test(file)).map(wordsOf)),
      max,
    })),
  ];
}

/** Prints the table; returns whether every document is within its limit. */
export function printSize(): boolean {
  const rows = measures();
  const width = Math.max(...rows.map(({ what }) => what.length));
  for (const { what, found, max } of rows) {
    const [shown, limit] = [found, max].map((count) => count.toLocaleString('en-US').padStart(8));
    console.log(`${what.padEnd(width)} ${shown} ≤ ${limit}${found > max ? '  exceeded' : ''}`);
  }
  return rows.every(({ what, found, max }) => !what.startsWith('words of') || found <= max);
}
