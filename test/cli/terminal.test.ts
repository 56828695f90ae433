import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { createProgress } from '../../src/cli/progress.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase, type TestDatabase, urlOf } from '../harness/database.ts';
import { program } from '../harness/program.ts';
import { until } from '../harness/until.ts';
import { collectOutput, createInstallation, endOf, type Installation } from './naru.ts';

/* What a command prints on a terminal, into a pipe and for a shell. */

let testDatabase: TestDatabase;
let database: Database;
let installation: Installation;
let options: readonly string[];
let hash: string;

before(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.address);
  installation = createInstallation();
  options = ['--config', installation.configure({ database: { url: urlOf(testDatabase.address) } })];
  await installation.run('account', 'create', '--name', '홍길동', ...options);
  const named = ['--account', '1', '--name', 'laptop'];
  [{ hash }] = (await installation.json('key', 'create', ...named, ...options)).rows as [{ hash: string }];
});
after(async () => {
  await database.close();
  await testDatabase.drop();
  installation.remove();
});

/** Runs a line of bash, in which `$NARU` is the program. */
function start(line: string, env: Readonly<Record<string, string>> = {}) {
  const own = { NARU: `${process.execPath} ${program()}`, OPTIONS: options.join(' '), ...env };
  const child = spawn('bash', ['-o', 'pipefail', '-c', line], { env: { ...process.env, ...own } });
  return { ended: endOf(child), ...collectOutput(child) };
}

/** Runs a command on a terminal. */
function onTerminal(command: string, env: Readonly<Record<string, string>>) {
  return start(`script -qec '$NARU ${command} $OPTIONS' /dev/null </dev/null`, env);
}

// spec:operator/1.23
test('a table is aligned on a terminal, without escape sequences, and has tabs in a pipe', async () => {
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
    const { ended, out } = onTerminal('key list --account 1', env);
    assert.equal(await ended, 0, out());
    const [head = '', row = ''] = out().split('\r\n');
    assert.match(head, /^hash {10}label +kind +name +state /);
    assert.equal(row.indexOf('inference'), head.indexOf('kind'));
    assert.ok(row.startsWith(`${hash.slice(0, 12)}  `), row);
    assert.ok(!out().includes('\x1b'), out());
  }
  for (const command of [['account', 'list'], ['audit'], ['models', 'facts', 'gpt-4o'], ['doctor']]) {
    const { out } = await installation.run(...command, ...options);
    const [columns = 0, ...rows] = out
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t').length);
    assert.ok(columns > 2 && rows.length > 0 && rows.every((row) => row === columns), out);
  }
});

// spec:operator/1.23
test('a command whose reader leaves ends with 0 and prints no error', async () => {
  for (const command of ['models facts $OPTIONS', 'completion bash', '--help']) {
    const { ended, err } = start(`$NARU ${command} | true`);
    assert.deepEqual([await ended, err()], [0, ''], command);
  }
});

// spec:operator/1.24
test('the beginning of a hash names a key, and several keys are listed', async () => {
  const show = (text: string) => installation.json('key', 'show', text, ...options);
  assert.equal((await show(hash.slice(0, 6))).rows[0].hash, hash);
  const unknown = await show(hash.startsWith('0') ? '1111111' : '0000000');
  assert.deepEqual([unknown.code, unknown.rows], [1, []]);
  assert.equal((await show(hash.slice(0, 5))).code, 2);

  const other = hash.slice(0, 62) + (hash.endsWith('00') ? '11' : '00');
  await database.query(
    `INSERT INTO api_key (hash, account_id, kind, name, label, limit_reset, created_at)
     SELECT decode($1, 'hex'), account_id, kind, name, 'other', limit_reset, created_at FROM api_key LIMIT 1`,
    [other],
  );
  await database.query(
    `INSERT INTO key_directory (hash, account_id, key_id)
     SELECT hash, account_id, id FROM api_key WHERE label = 'other'`,
  );
  const revoke = await installation.run('key', 'revoke', hash.slice(0, 62), ...options);
  assert.equal(revoke.code, 1);
  for (const each of [hash, other]) assert.ok(revoke.err.includes(`\n  ${each}  `), revoke.err);
  assert.notEqual((await show(hash)).rows[0].state, 'revoked');
});

// spec:operator/1.25
test('the completion of bash offers commands, options and their values', async () => {
  for (const [words, offered] of [
    ['ac', 'account'],
    ['--data-dir /x key s', 'show suspend'],
    ['key create --li', '--limit --limit-reset'],
    ['key create --kind ""', 'inference management'],
    ['completion ""', 'bash zsh --help'],
  ] as const) {
    const { ended, out, err } = start(
      `source <($NARU completion bash); COMP_WORDS=(naru ${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _naru; echo "\${COMPREPLY[@]}"`,
    );
    assert.deepEqual([await ended, err(), out()], [0, '', `${offered}\n`], words);
  }
});

// spec:operator/1.26
test('a slow command reports its step on a terminal, erases it at the end, and is silent in a pipe at first', async () => {
  const printed = { terminal: '', dumb: '', pipe: '' };
  const progressOf = (to: keyof typeof printed, isWatched: boolean, env = {}) =>
    createProgress({
      env,
      isWatched,
      err(text) {
        printed[to] += text.replaceAll('\x1b[K', '<erase>').replaceAll('\r', '<start>');
      },
    });
  const all = [
    progressOf('terminal', true),
    progressOf('dumb', true, { TERM: 'dumb' }),
    progressOf('pipe', false),
  ];
  for (const progress of all) progress('copying');
  assert.equal(printed.terminal, '', 'a quick command reports nothing');
  await until('the step', () => printed.terminal !== '');
  for (const progress of all) progress(null);
  assert.match(printed.terminal, /^<start>(?:copying, \d+ s<erase><start>)+<erase>$/);
  assert.deepEqual([printed.dumb, printed.pipe], ['', '']);
});
