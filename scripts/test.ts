/**
 * `npm test [files]`: the checks of the code, then the tests, on a real embedded database that is started once for all of them.
 * With files (or folders) only those tests run, and no checks. Whatever the checks find, the tests run too, one of them being
 * that the checks were clean: the lines of the test runner are the last ones, and they tell everything.
 */
import { spawn } from 'node:child_process';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { serverVariable } from '../test/harness/database.ts';
import { startTestServer } from '../test/harness/test-server.ts';

const root = join(import.meta.dirname, '..');
/** Tells `test/docs/checks.test.ts` what the checks found. */
const checkedVariable = 'NARU_TEST_CHECKED';
/** A test that takes longer than this hangs. */
const testTimeoutMs = 180_000;

process.exit(await main(process.argv.slice(2)));

async function main(args: readonly string[]): Promise<number> {
  const files = args.filter((arg) => !arg.startsWith('-'));
  const flags = args.filter((arg) => arg.startsWith('-'));
  const tests = files.length === 0 ? testsIn('test') : files.flatMap(testsIn);
  if (tests.length === 0) {
    console.error(`tests: none in ${files.join(', ')}`);
    return 2;
  }
  const checked = files.length === 0 ? await run([join(root, 'scripts/check.ts')], {}) : null;
  const server = await startTestServer((line) => console.error(`tests: ${line}`));
  try {
    const nodeFlags = [
      '--test',
      '--test-concurrency=2',
      `--test-timeout=${testTimeoutMs}`,
      '--test-reporter=spec',
      // A file whose test failed half-way may hold sockets: it must end all the same.
      '--test-force-exit',
      ...flags,
    ];
    return await run([...nodeFlags, ...tests], {
      [serverVariable]: JSON.stringify(server.connection),
      ...(checked === null ? {} : { [checkedVariable]: checked === 0 ? 'clean' : 'faults' }),
    });
  } finally {
    await server.stop();
  }
}

/** The tests of a folder, or the one of a file; a pattern that the shell left as it is, too. */
function testsIn(path: string): readonly string[] {
  const isFolder = statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() ?? false;
  return globSync(isFolder ? `${path}/**/*.test.ts` : path, { cwd: root }).sort();
}

function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const child = spawn(process.execPath, [...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}
