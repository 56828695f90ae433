import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { endedVariable } from '../test/harness/run-files.ts';
import { processesOf, writePrograms } from './test-processes.ts';
import { appendFailures } from './test-report.ts';

const root = join(import.meta.dirname, '..');

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
 * Runs test files, several to a process, and resolves with the exit code. When a process ends before
 * its tests do, its files run again, each in a process of its own; the run has failed all the same.
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
    return { code, unfinished: programs.unfinished() };
  } finally {
    programs.remove();
  }
}

/** Runs the project's Node and resolves with its exit code. */
export function runNode(args: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const child = spawn(process.execPath, [...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}

/**
 * The processor time of this process and of all that it started and waited for, in seconds; null
 * where the system does not tell.
 */
export function processorSeconds(): number | null {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    // utime, stime, cutime and cstime, in hundredths of a second.
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
  } catch {
    return null;
  }
}
