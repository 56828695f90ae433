/**
 * `npm test [files]`: installs the Debian packages that tests need (test-tools.sh), then runs the
 * quick tier of the tests, on one embedded database for all of them, and checks the types beside
 * them. `npm run test:all [files]` runs all checks and the full tier (test/harness/tier.ts); with
 * `--rest` without the files of which the quick tier runs everything. With files or folders only those
 * tests run, without checks. One test asserts that the checks were clean, so the report of the test
 * runner is complete.
 */
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, renameSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverVariable } from '../test/harness/database.ts';
import { emptyClusterVariable } from '../test/harness/empty-cluster.ts';
import { processorSeconds } from '../test/harness/processor-time.ts';
import { startTestServer } from '../test/harness/test-server.ts';
import { seedVariable, tierVariable } from '../test/harness/tier.ts';
import { buildProgram } from './program.mjs';
import { runNode, runTests } from './run-tests.ts';
import { fullOnlyFile, withMoreInFullTier } from './test-tiers.ts';

const root = join(import.meta.dirname, '..');
/** Names the file into which the checks write their result, for `test/docs/checks.test.ts`. */
const checkedVariable = 'NARU_TEST_CHECKED';
/**
 * The timeout of a test. It only ends a test that hangs: beside a load of 25 on two cores, one of a
 * browser took three minutes.
 */
const testTimeoutMs = 600_000;
/**
 * Eight more than cores, since many tests wait: for seconds until a node counts as lost, for a
 * process to start. The tests of all files last five times as long as their processor time. All
 * processes but those of one file run at once, so that none is left for the end. Bounded by the
 * connections of the shared database.
 */
const processesAtOnce = Math.min(availableParallelism() + 8, 12);
/** The memory file system, and the space that the databases of all tests need there. */
const memory = { dir: '/dev/shm', minBytes: 3 * 2 ** 30 };

process.exit(await main(process.argv.slice(2)));

async function main(args: readonly string[]): Promise<number> {
  const tier = args.includes('--full') ? 'full' : 'quick';
  const files = args.filter((arg) => !arg.startsWith('-'));
  const flags = args.filter((arg) => arg.startsWith('-') && arg !== '--full' && arg !== '--rest');
  const found = files.length === 0 ? testsIn('test') : files.flatMap(testsIn);
  const ofTier = found.filter((file) => tier === 'full' || files.includes(file) || !fullOnlyFile.test(file));
  const tests = args.includes('--rest') ? withMoreInFullTier(root, ofTier) : ofTier;
  if (tests.length === 0) {
    console.error(`tests: none in ${files.join(', ')}`);
    return 2;
  }
  const seed = process.env[seedVariable] ?? (tier === 'full' ? String(Date.now() % 2 ** 31) : '1');
  console.error(`tests: ${tier} tier, ${seedVariable}=${seed}`);
  if (files.length === 0) installTools();
  useMemory();
  const checks = files.length === 0 ? startChecks(tier === 'quick' ? ['--types'] : []) : null;
  const [server] = await Promise.all([
    startTestServer((line) => console.error(`tests: ${line}`)),
    bundleProgram(),
  ]);
  try {
    return await runTests({
      files: tests,
      atOnce: processesAtOnce,
      timeoutMs: testTimeoutMs,
      flags,
      env: {
        [serverVariable]: JSON.stringify(server.connection),
        [tierVariable]: tier,
        [seedVariable]: seed,
        ...(tier === 'quick' ? { [emptyClusterVariable]: server.emptyCluster } : {}),
        ...(checks === null ? {} : { [checkedVariable]: checks.file }),
      },
    });
  } finally {
    await checks?.ended;
    await server.stop();
    const seconds = (performance.now() / 1000).toFixed(0);
    const used = processorSeconds();
    console.error(`tests: ${seconds} s${used === null ? '' : `, ${used.toFixed(0)} s of processor time`}`);
    console.error(`tests: that was the ${tier} tier, ${seedVariable}=${seed}`);
  }
}

/** The checks run beside the tests; their file says `clean` or `faults` when they have ended. */
function startChecks(args: readonly string[]): { readonly file: string; readonly ended: Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), 'naru-checks-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'result');
  const ended = runNode([join(root, 'scripts/check.ts'), ...args], {}).then((code) => {
    writeFileSync(`${file}.new`, code === 0 ? 'clean' : 'faults');
    renameSync(`${file}.new`, file);
  });
  return { file, ended };
}

/** Installs what tests need from Debian; without it they fail, and its message says why. */
function installTools(): void {
  spawnSync('bash', [join(root, 'scripts/test-tools.sh')], { stdio: ['ignore', 'inherit', 'inherit'] });
}

/** Bundles the program, which tests start as a process (test/harness/program.ts). */
async function bundleProgram(): Promise<void> {
  const trouble = await buildProgram(root, process.execPath);
  if (trouble !== null) console.error(`tests: the program could not be bundled: ${trouble}`);
}

/** The tests of a folder, a file, or an unexpanded pattern. */
function testsIn(path: string): readonly string[] {
  const isFolder = statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() ?? false;
  return globSync(isFolder ? `${path}/**/*.test.ts` : path, { cwd: root }).sort();
}

/**
 * Puts databases and folders of tests in memory if there is space: they are temporary, and disks
 * sync slowly.
 */
function useMemory(): void {
  if (process.env['TMPDIR'] !== undefined) return;
  try {
    const { bavail, bsize } = statfsSync(memory.dir);
    if (bavail * bsize >= memory.minBytes) process.env['TMPDIR'] = memory.dir;
  } catch {
    // Not every system has it.
  }
}
