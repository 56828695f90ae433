import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { after, before, suite } from 'node:test';
import { familyProcessorSeconds } from './processor-time.ts';

const load = createRequire(import.meta.url);

/**
 * Names the file in which a process lists its test files, with their costs, when all of them ended.
 */
export const endedVariable = 'NARU_TEST_ENDED';

/**
 * Runs test files in this process, one after the other, each as a suite with the name of the file,
 * so that its hooks are those of its suite. A rejection that nobody handled fails the file in which
 * it happened. A file must not use a top-level `await`: the test runner knows the suite of a test
 * by the call in progress.
 *
 * @public The programs that `scripts/test-processes.ts` writes call it.
 */
export function runFiles(files: readonly string[]): void {
  const unhandled: unknown[] = [];
  process.on('unhandledRejection', (error) => unhandled.push(error));
  // All files are loaded before the first test.
  const costs = new Map<string, number>();
  let spent = 0;
  const noteCost = (name: string): void => {
    const now = familyProcessorSeconds();
    if (now !== null) costs.set(name, Math.max(0, now - spent));
    spent = now ?? 0;
  };
  const endedFile = process.env[endedVariable];
  if (endedFile !== undefined)
    after(() =>
      appendFileSync(
        endedFile,
        ['(imports)', ...files].map((name) => lineOf(name, costs.get(name))).join(''),
      ),
    );
  for (const file of files)
    suite(file, () => {
      before(() => {
        if (costs.size === 0) noteCost('(imports)');
      });
      load(resolve(file));
      after(() => {
        noteCost(file);
        const [error] = unhandled.splice(0);
        if (error !== undefined) throw error;
      });
    });
}

function lineOf(name: string, seconds: number | undefined): string {
  return seconds === undefined ? `${name}\n` : `${name}\t${seconds.toFixed(2)}\n`;
}
