import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endedVariable } from '../test/harness/run-files.ts';
import { processesOf, writePrograms } from './test-processes.ts';
import { appendFailures } from './test-report.ts';

const root = join(import.meta.dirname, '..');

const listedCosts = 25;
/** Names the file into which a run writes the processor time of every test file. */
const costsVariable = 'NARU_TEST_COSTS';

/** How test files are run. */
export interface TestRun {
  readonly files: readonly string[];
  /** How many processes at a time. */
  readonly atOnce: number;
  readonly timeoutMs: number;
  /** More flags of the test runner. */
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs test files, several to a process, and resolves with the exit code. When a process ends
 * before its tests do, its files run again, each in a process of its own; the run has failed all
 * the same.
 */
export async function runTests(tests: TestRun): Promise<number> {
  const { code, unfinished } = await runProcesses(tests, processesOf(tests.files, tests.atOnce));
  if (unfinished.length === 0 || tests.files.length === 1) return code;
  console.error(
    `tests: a process ended early; its files run again, one process each: ${unfinished.join(', ')}`,
  );
  appendFailures(unfinished.map((file) => `${file}\t(whole file)\tits process ended early`));
  await runProcesses(
    tests,
    unfinished.map((file) => [file]),
  );
  return Math.max(code, 1);
}

async function runProcesses(
  { atOnce, timeoutMs, flags, env }: TestRun,
  processes: readonly (readonly string[])[],
): Promise<{ readonly code: number; readonly unfinished: readonly string[] }> {
  const programs = writePrograms(processes);
  try {
    const args = [
      '--test',
      `--test-concurrency=${atOnce}`,
      `--test-timeout=${timeoutMs}`,
      `--test-reporter=${join(root, 'scripts/test-report.ts')}`,
      `--import=${join(root, 'test/harness/light-hooks.mjs')}`,
      // A file whose test failed may hold open sockets; its process must still end.
      '--test-force-exit',
      ...flags,
      ...programs.files,
    ];
    const code = await runNode(args, { ...env, [endedVariable]: programs.endedFile });
    if (processes.length > 1) printCosts(programs.costs());
    return { code, unfinished: programs.unfinished() };
  } finally {
    programs.remove();
  }
}

/** Prints what used most processor time: the cores, not the waiting, bound the time of a run. */
function printCosts(costs: ReadonlyMap<string, number>): void {
  const all = [...costs].sort(([, one], [, other]) => other - one);
  const listFile = process.env[costsVariable];
  if (listFile !== undefined)
    writeFileSync(listFile, all.map(([name, seconds]) => `${seconds.toFixed(2)}\t${name}\n`).join(''));
  if (all.length > 0) console.error('tests: most processor time');
  for (const [name, seconds] of all.slice(0, listedCosts))
    console.error(`tests: ${seconds.toFixed(1).padStart(6)} s ${name}`);
}

/** Runs the project's Node and resolves with its exit code. */
export function runNode(args: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const child = spawn(process.execPath, [...args], {
    cwd: root,
    stdio: 'inherit',
    // A test that runs tests itself must not write its list over that of this run.
    env: { ...process.env, [costsVariable]: undefined, ...env },
  });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}
