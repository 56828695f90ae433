import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { after, suite } from 'node:test';

const load = createRequire(import.meta.url);

/** Names the file in which a process lists its test files when all of them have ended. */
export const endedVariable = 'NARU_TEST_ENDED';

/**
 * Runs test files in this process, one after the other, each as a suite with the name of the file,
 * so that its hooks are those of its suite. A rejection that nobody handled fails the file in which
 * it happened. A file must not use a top-level `await`: the test runner knows the suite of a test by
 * the call in progress.
 *
 * @public The programs that `scripts/test-processes.ts` writes call it.
 */
export function runFiles(files: readonly string[]): void {
  const unhandled: unknown[] = [];
  process.on('unhandledRejection', (error) => unhandled.push(error));
  const endedFile = process.env[endedVariable];
  if (endedFile !== undefined)
    after(() => appendFileSync(endedFile, files.map((file) => `${file}\n`).join('')));
  for (const file of files)
    suite(file, () => {
      load(resolve(file));
      after(() => {
        const [error] = unhandled.splice(0);
        if (error !== undefined) throw error;
      });
    });
}
