import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { welcome } from '../../src/app/startup-banner.ts';
import { configOf } from '../config/load-text.ts';
import { parseCommand as parse } from './parse-command.ts';

/* The pages that a newcomer reads are true: commands parse, files exist, figures have a source. */

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const readme = read('README.md');
const operating = read('docs/operating.md');
const pages = ['README.md', 'docs/operating.md', 'docs/runbook.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
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

/** The table rows under a heading, as cells without the header. */
function rowsUnder(heading: string): readonly (readonly string[])[] {
  const section = readme.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(1).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test('README.md has its sections in order and stays short', () => {
  assert.deepEqual(
    [...readme.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading),
    [
      'Why',
      'Quick start',
      'Features',
      'Exactness in four figures',
      'Speed in two',
      'Compared with other gateways',
      'Works with',
      'Links',
    ],
  );
  assert.ok(readme.split('\n').length < 200);
  assert.match(readme, /^# Naru\n\n.{20,100}\n\n```mermaid\n/);
  assert.equal(/## Why\n\n([\s\S]*?)\n\n##/.exec(readme)?.[1]?.match(/^- /gm)?.length, 3);
});

test('the quick start has the two commands and what the first start prints', () => {
  const [commands = '', output = ''] = [...(readme.split('## Quick start')[1] ?? '').matchAll(fence)].map(
    (match) => match[2],
  );
  assert.equal(commands, 'git clone <this repository> naru && cd naru\nnpm start\n');
  const link = { token: '…', expiresAtMs: 0 };
  const demo = {
    accountId: 1,
    inferenceKey: 'sk-naru-v1-…',
    managementKey: 'sk-naru-mgmt-v1-…',
    dashboardLink: { ...link, purpose: 'account' },
    consoleLink: { ...link, purpose: 'console' },
  } as const;
  const config = configOf(`
slots: [{ name: demo, external: { base_url: "http://127.0.0.1:1" } }]
models: [{ id: naru/demo, context_length: 2048, price: { prompt: 0, completion: 0, per: token }, slot: demo }]
`);
  const printed = welcome(demo, config, { listen: 8787, admin: 8788 });
  assert.equal(`\n${output}`, `${printed}listening on http://127.0.0.1:8787\n`);
});

test('the response of the quick start adds up', () => {
  const [, body = ''] = /```json\n([\s\S]*?)```/.exec(readme) ?? [];
  const { usage } = JSON.parse(body);
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
  const [, line = ''] = /is in won: (.*?)\./s.exec(readme.replace(/₩0\./g, '₩0,')) ?? [];
  const factors = [...line.matchAll(/(\d+) × ₩0,(\d{4})/g)].map(([, tokens, price]) =>
    [tokens, price].map(Number),
  );
  assert.deepEqual(
    factors.map(([tokens]) => tokens),
    [usage.prompt_tokens, usage.completion_tokens],
  );
  const cost = factors.reduce((sum, [tokens = 0, price = 0]) => sum + tokens * price, 0);
  assert.equal(cost, Math.round(usage.cost * 10_000));
});

test('every figure of README.md is in the page that it names', () => {
  const exactness = rowsUnder('Exactness in four figures');
  const speed = rowsUnder('Speed in two');
  assert.deepEqual([exactness.length, speed.length], [4, 2]);
  for (const [figure = '', what = '', , source = ''] of [...exactness, ...speed]) {
    const [, file = ''] = /\]\(([^)]+)\)/.exec(source) ?? [];
    const page = read(file).replaceAll(',', '');
    const numbers = [figure, ...(what.match(/\d[\d,]{2,}/g) ?? [])].map((each) => each.replaceAll(',', ''));
    for (const number of numbers) assert.match(page, new RegExp(`\\b${number}\\b`), `${number}: ${file}`);
  }
  for (const latency of readme.match(/\d+\.\d+ ms/g) ?? [])
    assert.ok(read('bench/RESULTS.md').includes(`+ ${latency}`), latency);
});

test('the comparison is dated, and every cell about another gateway has a source', () => {
  const [, table = ''] = /<!-- compared -->\n\n([\s\S]*?)\n\n<!-- end -->/.exec(readme) ?? [];
  const rows = table.split('\n').slice(2);
  assert.ok(rows.length >= 6);
  assert.match(readme, /As of \w+ 20\d\d/);
  for (const row of rows) {
    const cells = row.split('|').slice(3, -1);
    assert.equal(cells.length, 4, row);
    for (const cell of cells) assert.match(cell, /^ ?$|\]\(https:\/\/[^)]+\)/, `${row}: ${cell}`);
  }
});

test('the npm scripts that the pages name exist', () => {
  const named = code.flatMap((piece) =>
    [...piece.matchAll(/\bnpm (run )?([a-z][a-z:-]*)/g)].map((match) => match[2] ?? ''),
  );
  assert.ok(new Set(named).size >= 10, named.join(' '));
  assert.deepEqual(
    named.filter((name) => !(name in scripts)),
    [],
  );
});

test('the commands of the pages parse', async () => {
  const commands = code.filter((piece) => /^(bin\/naru|npm run naru --) [a-z]/.test(piece));
  assert.ok(commands.length > 20, commands.join('\n'));
  for (const wrong of [['no-such-command'], ['up', '--no-such-option']])
    assert.equal((await parse(wrong)).code, 2, wrong.join(' '));
  for (const command of commands) {
    const words = command.replace(/^(bin\/naru|npm run naru --) /, '').split(/[ |\\]/);
    // A command of the table has no arguments.
    const isWhole = command.includes('--');
    const { code: exitCode, output } = await parse(isWhole ? words : [...words, '--help']);
    assert.equal(exitCode, 0, `${command}\n${output}`);
  }
});

test('docs/operating.md has every command of the program', async () => {
  const { output } = await parse(['--help']);
  const commands = [...output.matchAll(/^ {2}(\w+)(?: \[options\])? {2,}/gm)].map((match) => match[1] ?? '');
  assert.ok(commands.length >= 8, output);
  const missing = commands.filter((command) => !operating.includes(`| \`bin/naru ${command}`));
  assert.deepEqual(missing, []);
});

test('the files that the pages name exist', () => {
  const paths = code.filter((piece) =>
    /^(?:[\w.-]+\/)*[\w.-]+(?:\.(?:md|yaml|json|service)|\/)$|^(?:bin|docs|test|src|scripts|\.github)\//.test(
      piece,
    ),
  );
  const files = paths.map((path) => path.split(' ')[0] ?? '').filter((path) => path !== 'naru.yaml');
  assert.ok(files.length >= 5, files.join(' '));
  const inRoot = (path: string): boolean => existsSync(join(root, path));
  assert.deepEqual(
    files.filter((file) => !inRoot(file) && !inRoot(join('src', file))),
    [],
  );
});

test('the internal links of the pages have targets', () => {
  const links = pages.flatMap((page) =>
    [
      ...read(page)
        .replaceAll(fence, '')
        .matchAll(/\]\(((?!https?:)[^)\s]+)\)/g),
    ].map(([, link = '']) => ({
      page,
      link,
    })),
  );
  assert.ok(links.length >= 20);
  for (const { page, link } of links) {
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? page : join(dirname(page), file);
    assert.ok(existsSync(join(root, target)), `${page}: ${link}`);
    if (anchor === undefined) continue;
    const anchors = [...read(target).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    );
    assert.ok(anchors.includes(anchor), `${page}: ${link}`);
  }
});

test('the prose of the pages wraps at 100 columns', () => {
  for (const page of ['README.md', 'docs/operating.md', 'docs/runbook.md', 'CHANGELOG.md']) {
    const prose = read(page)
      .replaceAll(fence, '')
      .split('\n')
      .filter((line) => !line.startsWith('|'));
    assert.deepEqual(
      prose.filter((line) => line.length > 100),
      [],
      page,
    );
  }
});
