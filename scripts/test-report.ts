import { appendFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { spec as Spec, type TestEvent } from 'node:test/reporters';

/** Names the file to which failed tests are appended: a line `FILE<tab>TEST<tab>ERROR` for each. */
export const failuresVariable = 'NARU_TEST_FAILURES';
const listed = 10;

/** The reporter of `npm test`: that of Node, then the slowest files. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: { readonly name: string; readonly seconds: number }[] = [];
  const failures: string[] = [];
  const watched = async function* (): AsyncGenerator<TestEvent> {
    for await (const event of events) {
      yield event;
      if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
      const { name, nesting, details } = event.data;
      // A file is a suite of its process (test/harness/run-files.ts); its tests were reported
      // before.
      if (event.type === 'test:fail' && !failedByChildren(event.data.details.error)) {
        const test = nesting === 0 ? '(whole file)' : oneLine(name);
        failures.push(`${test}\t${oneLine(messageOf(event.data.details.error))}`);
      }
      if (nesting > 0) continue;
      appendFailures(failures.splice(0).map((failure) => `${name}\t${failure}`));
      if (details.type === 'suite') files.push({ name, seconds: details.duration_ms / 1000 });
    }
  };
  yield* Readable.from(watched()).pipe(new Spec());
  const slowest = files.toSorted((one, other) => other.seconds - one.seconds).slice(0, listed);
  yield `ℹ slowest of ${files.length} files\n`;
  for (const { name, seconds } of slowest) yield `ℹ ${seconds.toFixed(1).padStart(6)} s ${name}\n`;
}

/** Appends failed tests to the file that the environment names, if any. */
export function appendFailures(lines: readonly string[]): void {
  const file = process.env[failuresVariable];
  if (file !== undefined && lines.length > 0) appendFileSync(file, lines.map((line) => `${line}\n`).join(''));
}

/** Whether a suite failed only because one of its tests did. */
function failedByChildren(error: Error): boolean {
  return 'failureType' in error && error.failureType === 'subtestsFailed';
}

function messageOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : String(error.cause ?? error.message);
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}
