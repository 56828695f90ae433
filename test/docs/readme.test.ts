import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli } from '../../src/cli/program.ts';
import type { Shell } from '../../src/cli/shell.ts';
import { loadConfig } from '../../src/config/load.ts';

/* What README.md says is so: its commands are understood, its files are there, its configuration has no fault. */

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const scripts: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
).scripts;

/** Every piece of code in the page: between backticks, and each line between fences. */
const code = [
  ...[...readme.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].flatMap((match) => (match[1] ?? '').split('\n')),
  ...[...readme.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? ''),
];

/** What the command line parser makes of the words: 2 when it does not understand them. Nothing is carried out. */
async function understood(
  words: readonly string[],
): Promise<{ readonly code: number; readonly said: string }> {
  let said = '';
  const nothing = async (): Promise<never> => {
    throw new Error('understood');
  };
  const shell: Shell = {
    out: async (text) => {
      said += text;
    },
    err: (text) => {
      said += text;
    },
    version: () => '0',
    openOffice: nothing,
    openSlotDesk: nothing,
    backUp: nothing,
    readAnchors: nothing,
    restore: nothing,
    newIdentity: nothing,
    recover: nothing,
    up: nothing,
    checkConfig: nothing,
    readFacts: nothing,
    refreshFacts: nothing,
    examine: nothing,
    explainRoute: nothing,
    routeHealth: nothing,
  };
  return { code: await runCli(shell, words).catch(() => 0), said };
}

test('it opens with the two commands', () => {
  const [, first = ''] = /```\n([\s\S]*?)```/.exec(readme) ?? [];
  assert.equal(first, 'git clone <this repository> naru && cd naru\nnpm start\n');
  assert.ok(readme.split('\n').length < 175);
});

test('its npm scripts exist', () => {
  const named = code.flatMap((piece) =>
    [...piece.matchAll(/\bnpm (run )?([a-z][a-z:-]*)/g)].map((match) => match[2]),
  );
  assert.deepEqual([...new Set(named)].toSorted(), [
    'check',
    'fuzz',
    'naru',
    'start',
    'test',
    'test:agents',
    'test:python-clients',
  ]);
  for (const name of named) assert.ok(name !== undefined && name in scripts, `npm run ${name}`);
});

test('its commands are understood as they stand', async () => {
  const commands = code.filter((piece) => /^(bin\/naru|npm run naru --) [a-z]/.test(piece));
  assert.ok(commands.length > 10, commands.join('\n'));
  for (const command of commands) {
    const words = command.replace(/^(bin\/naru|npm run naru --) /, '').split(' ');
    // A command of the table stands without its arguments.
    const isWhole = command.includes('--');
    const { code: exitCode, said } = await understood(isWhole ? words : [...words, '--help']);
    assert.equal(exitCode, 0, `${command}\n${said}`);
  }
});

test('every command of the program is in the table', async () => {
  const { said } = await understood(['--help']);
  const commands = [...said.matchAll(/^ {2}(\w+)(?: \[options\])? {2,}/gm)].map((match) => match[1] ?? '');
  assert.ok(commands.length >= 8, said);
  const missing = commands.filter((command) => !readme.includes(`| \`bin/naru ${command}`));
  assert.deepEqual(missing, []);
});

test('its files are there', () => {
  const paths = code.filter((piece) =>
    /^(?:[\w.-]+\/)*[\w.-]+(?:\.(?:md|yaml|json)|\/)$|^(?:bin|docs|test)\//.test(piece),
  );
  const files = paths.map((path) => path.split(' ')[0] ?? '').filter((path) => path !== 'naru.yaml');
  assert.ok(files.length >= 5, files.join(' '));
  assert.deepEqual(
    files.filter((file) => !existsSync(join(root, file))),
    [],
  );
});

test('its configuration has no fault', () => {
  const [, text = ''] = /```yaml\n([\s\S]*?)```/.exec(readme) ?? [];
  const loaded = loadConfig({
    text,
    path: '/srv/naru.yaml',
    env: { OPENAI_API_KEY: 'sk-test' },
    readFile: () => '',
  });
  assert.deepEqual(loaded.ok ? [] : loaded.faults, []);
});
