/**
 * `npm test [files]`: the checks of the code, then the quick tier of the tests, on a real embedded database that is started once for
 * all of them. `npm run test:all [files]` runs the full tier (test/harness/tier.ts). With files (or folders) only those tests run, and
 * no checks. Whatever the checks find, the tests run too, one of them being that the checks were clean: the lines of the test runner
 * are the last ones, and they tell everything.
 */
import { spawn } from 'node:child_process';
import { globSync, statfsSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { serverVariable } from '../test/harness/database.ts';
import { startTestServer } from '../test/harness/test-server.ts';
import { seedVariable, tierVariable } from '../test/harness/tier.ts';

const root = join(import.meta.dirname, '..');
/** Tells `test/docs/checks.test.ts` what the checks found. */
const checkedVariable = 'NARU_TEST_CHECKED';
/** A test that takes longer than this hangs. */
const testTimeoutMs = { quick: 180_000, full: 600_000 };
/** One more than there are cores, since files wait as well; no more than the connections of the shared database last for. */
const filesAtOnce = Math.min(availableParallelism() + 1, 4);
/** What only the full tier runs; named on the command line it runs in either. */
const fullOnly = /\.full\.test\.ts$/;
/** Where files cost no disk, and how much room the databases of all tests need there. */
const memory = { dir: '/dev/shm', minBytes: 3 * 2 ** 30 };

process.exit(await main(process.argv.slice(2)));

async function main(args: readonly string[]): Promise<number> {
  const tier = args.includes('--full') ? 'full' : 'quick';
  const files = args.filter((arg) => !arg.startsWith('-'));
  const flags = args.filter((arg) => arg.startsWith('-') && arg !== '--full');
  const found = files.length === 0 ? testsIn('test') : files.flatMap(testsIn);
  const tests = found.filter((file) => tier === 'full' || files.includes(file) || !fullOnly.test(file));
  if (tests.length === 0) {
    console.error(`tests: none in ${files.join(', ')}`);
    return 2;
  }
  const seed = process.env[seedVariable] ?? (tier === 'full' ? String(Date.now() % 2 ** 31) : '1');
  console.error(`tests: ${tier} tier, ${seedVariable}=${seed}`);
  useMemory();
  const checked = files.length === 0 ? await run([join(root, 'scripts/check.ts')], {}) : null;
  const server = await startTestServer((line) => console.error(`tests: ${line}`));
  try {
    const nodeFlags = [
      '--test',
      `--test-concurrency=${filesAtOnce}`,
      `--test-timeout=${testTimeoutMs[tier]}`,
      `--test-reporter=${join(root, 'scripts/test-report.ts')}`,
      `--import=${join(root, 'test/harness/light-hooks.mjs')}`,
      // A file whose test failed half-way may hold sockets: it must end all the same.
      '--test-force-exit',
      ...flags,
    ];
    return await run([...nodeFlags, ...tests], {
      [serverVariable]: JSON.stringify(server.connection),
      [tierVariable]: tier,
      [seedVariable]: seed,
      ...(checked === null ? {} : { [checkedVariable]: checked === 0 ? 'clean' : 'faults' }),
    });
  } finally {
    await server.stop();
    console.error(`tests: that was the ${tier} tier, ${seedVariable}=${seed}`);
  }
}

/** The tests of a folder, or the one of a file; a pattern that the shell left as it is, too. */
function testsIn(path: string): readonly string[] {
  const isFolder = statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() ?? false;
  return globSync(isFolder ? `${path}/**/*.test.ts` : path, { cwd: root }).sort();
}

/** Databases and folders of tests lie in memory where it has room: nothing in them outlives the run, and a disk is slow to sync. */
function useMemory(): void {
  if (process.env['TMPDIR'] !== undefined) return;
  try {
    const { bavail, bsize } = statfsSync(memory.dir);
    if (bavail * bsize >= memory.minBytes) process.env['TMPDIR'] = memory.dir;
  } catch {
    // Not every system has it.
  }
}

function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const child = spawn(process.execPath, [...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}
