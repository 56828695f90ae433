/** Several test files share a process; what one of them does must not hide the others. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ownProcess, processesOf, slowFiles } from '../../scripts/test-processes.ts';
import { failuresVariable } from '../../scripts/test-report.ts';

const root = join(import.meta.dirname, '../..');

/**
 * Runs test files by their name and text as `npm test` does, in one process. `failures` are the lines
 * that the run left for `.ci/run`.
 */
function runTexts(
  texts: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
): {
  readonly code: number | null;
  readonly out: string;
  readonly failures: readonly string[];
} {
  const dir = mkdtempSync(join(tmpdir(), 'naru-run-tests-'));
  try {
    const files = Object.entries(texts).map(([name, text]) => {
      const file = join(dir, `${name}.test.mjs`);
      writeFileSync(
        file,
        `import assert from 'node:assert';\nimport { after, before, test } from 'node:test';\n${text}`,
      );
      return file;
    });
    const failuresFile = join(dir, 'failures');
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const run = { files, atOnce: 1, timeoutMs: 10_000, flags: [], env: {} };
    const program = `import { runTests } from ${JSON.stringify(join(root, 'scripts/run-tests.ts'))};
      process.exit(await runTests(${JSON.stringify(run)}));`;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      env: { ...env, [failuresVariable]: failuresFile, ...more },
      encoding: 'utf8',
    });
    const failures = existsSync(failuresFile) ? readFileSync(failuresFile, 'utf8') : '';
    return {
      code: status,
      out: `${stdout}${stderr}`.replaceAll(`${dir}/`, ''),
      failures: failures.replaceAll(`${dir}/`, '').split('\n').slice(0, -1),
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

test('a failure names its file, and the files beside it are not affected', () => {
  const { code, out, failures } = runTexts({
    fails: "after(() => console.log('after fails')); test('one that fails', () => assert.equal(1, 2));",
    loads: "import './nothing.mjs'; test('never', () => {});",
    rejects:
      "test('leaves a rejection', async () => { void Promise.reject(new Error('lost')); await new Promise(setImmediate); });",
    passes:
      "let ready = false; before(() => { ready = true; }); test('one that passes', () => assert.ok(ready));",
  });
  assert.equal(code, 1, out);
  for (const file of ['fails', 'loads', 'rejects']) assert.match(out, new RegExp(`✖ ${file}.test.mjs`), file);
  assert.match(out, /✔ passes\.test\.mjs/);
  assert.match(out, /✔ one that passes/);
  assert.match(out, /test at \S*fails\.test\.mjs:3:\d+\n✖ one that fails/);
  assert.match(out, /✖ rejects\.test\.mjs.*\n.*Error: lost/);
  assert.match(out, /Cannot find module \S*nothing\.mjs/);
  assert.ok(out.indexOf('after fails') < out.indexOf('▶ rejects'), 'hooks belong to their file');
  assert.doesNotMatch(out, /run again/);
  assert.deepEqual(
    failures.map((line) => line.split('\t').slice(0, 2).join(': ')),
    ['fails.test.mjs: one that fails', 'loads.test.mjs: (whole file)', 'rejects.test.mjs: (whole file)'],
  );
});

test('the files of a process that crashed run again, one process each, and the run fails', () => {
  const { code, out, failures } = runTexts({
    before: "test('before the crash', () => {});",
    crashes: "test('crashes', () => process.kill(process.pid, 'SIGKILL'));",
    behind: "test('behind the crash', () => {});",
  });
  assert.equal(code, 1, out);
  assert.match(out, /run again, one process each: .*crashes\.test\.mjs/);
  assert.match(out, /✔ behind the crash/);
  assert.match(out, /✔ behind\.test\.mjs/);
  assert.deepEqual(
    failures.filter((line) => line.endsWith('ended early')).map((line) => line.split('\t')[0]),
    ['before.test.mjs', 'crashes.test.mjs', 'behind.test.mjs'],
  );
});

test('a run within a run does not write over the list of costs that the outer one was asked for', () => {
  const { code, out } = runTexts(
    {
      one: "test('has no list', () => assert.equal(process.env.NARU_TEST_COSTS, undefined));",
      other: "test('has none either', () => assert.equal(process.env.NARU_TEST_COSTS, undefined));",
    },
    { NARU_TEST_COSTS: join(tmpdir(), 'naru-costs-of-nobody') },
  );
  assert.equal(code, 0, out);
});

test('every file is in exactly one process, and slow files are first and in different ones', () => {
  const files = Array.from({ length: 100 }, (_, n) => `test/folder-${n >> 4}/file-${n}.test.ts`);
  const [slower = '', slow = ''] = slowFiles;
  const [measured = ''] = Object.keys(ownProcess);
  const all = [...files, slow, slower, measured];
  const processes = processesOf(all, 2);
  assert.deepEqual(processes.flat().toSorted(), all.toSorted());
  assert.deepEqual(
    processes.map((group) => group[0]),
    [slower, slow, measured],
  );
  for (const { length } of processes.slice(0, 2)) assert.ok(length >= 48 && length <= 54, `${length} files`);
  const pages = Array.from({ length: 5 }, (_, n) => `test/browser/${n}.test.ts`);
  const [browser = [], ...others] = processesOf([...all, ...pages], 3);
  assert.deepEqual(browser, pages, 'the files of a browser share it, and start before');
  assert.deepEqual(others, processes, 'those of the others fill the places beside it');
  const many = Array.from({ length: 201 }, (_, n) => `test/many/${n}.test.ts`);
  assert.equal(processesOf(many, 2).length, 3, 'at most 100 files share a process');
  assert.deepEqual(processesOf(files.slice(0, 2), 3), [files.slice(0, 1), files.slice(1, 2)]);
  assert.deepEqual(processesOf([measured], 3), [[measured]]);
  const eight = Array.from({ length: 8 }, (_, n) => `test/folder/${n}.test.ts`);
  assert.deepEqual(
    processesOf(eight, 5).map(({ length }) => length),
    [2, 2, 2, 2],
    'no process is empty',
  );
});

test('every file that the division names exists', () => {
  for (const file of [...slowFiles, ...Object.keys(ownProcess)])
    assert.ok(existsSync(join(root, file)), file);
});
