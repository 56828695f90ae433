import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generatedFiles } from '../../scripts/docs-site/generated.ts';
import { pageFiles } from '../../scripts/docs-site/pages.ts';
import { withIds, wordsOf } from './code-blocks.ts';
import { markdownFiles } from './markdown-files.ts';
import { parseCommand as parse } from './parse-command.ts';

/* The pages that a newcomer reads are true: commands parse, files and scripts exist. Links: site.test.ts. */

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const pages = [
  ...pageFiles.filter((file) =>
    /^README|quick-start|checklist|tasks|operating|runbook|lost-nodes|CHANGELOG/.test(file),
  ),
  'CONTRIBUTING.md',
];
const text = pages.map(read).join('\n');
const scripts: Readonly<Record<string, string>> = JSON.parse(read('package.json')).scripts;

const fence = /^```(\w*)\n([\s\S]*?)^```/gm;

/** Every piece of code: between backticks, and each line between fences. */
function codeOf(page: string): readonly string[] {
  return [
    ...[...page.matchAll(fence)].flatMap((match) => (match[2] ?? '').split('\n')),
    ...[...page.replaceAll(fence, '').matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? ''),
  ];
}
const code = codeOf(text);

test('the npm scripts that documents name exist', () => {
  // The trainer is a package of its own.
  const files = markdownFiles().filter((file) => !file.startsWith('tools/'));
  const named = files.flatMap((file) =>
    [...read(file).matchAll(/\bnpm run ([a-z][a-z:-]*)/g)].map(([, name = '']) => ({ file, name })),
  );
  assert.ok(named.length >= 20);
  assert.deepEqual(
    named.filter(({ name }) => !(name in scripts)),
    [],
  );
});

test('the commands of the pages parse', async () => {
  const commands = code.filter((piece) => /^(bin\/naru|naru|npm run naru --) [a-z][^…]*$/.test(piece));
  assert.ok(commands.length > 20, commands.join('\n'));
  for (const wrong of [['no-such-command'], ['up', '--no-such-option']])
    assert.equal((await parse(wrong)).code, 2, wrong.join(' '));
  for (const command of commands) {
    const words = wordsOf(
      withIds(command)
        .replace(/^(bin\/naru|naru|npm run naru --) /, '')
        .replace(/ [>|\\].*/, ''),
    );
    // A command of the table has no arguments.
    const isWhole = command.includes('--');
    const { code: exitCode, output } = await parse(isWhole ? words : [...words, '--help']);
    assert.equal(exitCode, 0, `${command}\n${output}`);
  }
});

test('the files that the pages name exist', () => {
  const paths = code.filter((piece) =>
    /^(?:[\w.-]+\/)*[\w.-]+(?:\.(?:md|yaml|json|service)|\/)$|^(?:bin|docs|test|src|scripts|\.github)\//.test(
      piece,
    ),
  );
  const files = paths.map((path) => path.split(' ')[0] ?? '').filter((path) => path !== 'naru.yaml');
  assert.ok(files.length >= 5, files.join(' '));
  const generated = generatedFiles();
  const inRoot = (path: string): boolean => generated.has(path) || existsSync(join(root, path));
  assert.deepEqual(
    files.filter((file) => !inRoot(file) && !inRoot(join('src', file))),
    [],
  );
});
