import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const folder = join(import.meta.dirname, '../../web/src');

/** The texts of a namespace by their full keys. */
function textsOf(language: string, namespace: string): ReadonlyMap<string, string> {
  return flatten(JSON.parse(readFileSync(join(folder, 'i18n', language, `${namespace}.json`), 'utf8')), '');
}

function flatten(value: object, prefix: string): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(value).flatMap(([key, inner]) =>
      typeof inner === 'string'
        ? [[prefix + key, inner] as const]
        : [...flatten(inner as object, `${prefix}${key}.`)],
    ),
  );
}

/** A plural form of English is not a key of its own. */
const base = (key: string): string => key.replace(/_(?:one|other)$/, '');
const namespaces = readdirSync(join(folder, 'i18n/ko')).map((file) => file.replace('.json', ''));

test('both languages have the same namespaces, keys and inserted values', () => {
  assert.deepEqual(readdirSync(join(folder, 'i18n/en')), readdirSync(join(folder, 'i18n/ko')));
  for (const namespace of namespaces) {
    const [ko, en] = [textsOf('ko', namespace), textsOf('en', namespace)];
    assert.deepEqual(new Set([...en.keys()].map(base)), new Set([...ko.keys()].map(base)), namespace);
    for (const [key, text] of ko) {
      const other = en.get(key) ?? en.get(`${base(key)}_other`) ?? '';
      assert.deepEqual(insertedIn(other), insertedIn(text), `${namespace}:${key}`);
      assert.ok(text.trim() !== '' && other.trim() !== '', `${namespace}:${key} is empty`);
    }
  }
});

test('English texts have no Korean, and Korean texts are not left in English', () => {
  const maxLatinChars = 40;
  for (const namespace of namespaces) {
    for (const [key, text] of textsOf('en', namespace))
      assert.doesNotMatch(text, /[가-힣]/, `${namespace}:${key}`);
    for (const [key, text] of textsOf('ko', namespace))
      assert.ok(/[가-힣]/.test(text) || text.length < maxLatinChars, `${namespace}:${key}: ${text}`);
  }
});

test('every text that a component names exists', () => {
  const missing: string[] = [];
  let count = 0;
  for (const file of globSync('**/*.tsx', { cwd: folder })) {
    const source = readFileSync(join(folder, file), 'utf8');
    const own = /useTranslation\(\[?'([\w-]+)'/.exec(source)?.[1] ?? 'common';
    for (const [, key = ''] of source.matchAll(/\bt\('([^'$]+)'/g)) {
      count += 1;
      const [namespace, name] = key.includes(':') ? (key.split(':') as [string, string]) : [own, key];
      const texts = textsOf('en', namespace);
      if (!texts.has(name) && !texts.has(`${name}_other`)) missing.push(`${file}: ${key}`);
    }
  }
  assert.ok(count > 50, `${count} texts`);
  assert.deepEqual(missing, []);
});

test('no component has a text of its own', () => {
  const found: string[] = [];
  for (const file of globSync('**/*.tsx', { cwd: folder })) {
    const code = readFileSync(join(folder, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    for (const [text] of code.matchAll(/[^\n]*[가-힣][^\n]*/g)) found.push(`${file}: ${text.trim()}`);
    for (const [, text] of code.matchAll(/>\s*([A-Z][a-z]+(?: [a-z]+)+)[.!?]?\s*</g))
      found.push(`${file}: ${text}`);
  }
  // Each language is named in its own words; a unit of won and an example of code.
  const allowed = [/preference-menus\.tsx/, /palette\.tsx: label: language/, /suffix="원"/, /components\//];
  assert.deepEqual(
    found.filter((line) => !allowed.some((pattern) => pattern.test(line))),
    [],
  );
});

function insertedIn(text: string): readonly string[] {
  return [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name).toSorted();
}

test('every act of the audit log has words in both languages', () => {
  const source = globSync('src/{operations,identity,admin,pages,cli}/**/*.ts', { cwd: join(folder, '../..') })
    .map((file) => readFileSync(join(folder, '../..', file), 'utf8'))
    .join('\n');
  const stated =
    /(?:\bact(?:: | = )|record\()(?:[\w.]+ \? )?'([a-z_]+(?:\.[a-z_]+)*)'(?:\s*: '([a-z_]+\.[a-z_]+)')?/g;
  const acts = [...source.matchAll(stated)].flatMap(([, one = '', other = one]) => [one, other]);
  assert.ok(acts.length > 20, String(acts));
  for (const language of ['ko', 'en']) {
    const texts = textsOf(language, 'audit');
    for (const act of acts) assert.ok(texts.has(`acts.${act.replaceAll('.', '_')}`), `${language}: ${act}`);
  }
});
