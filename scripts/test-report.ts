import { Readable } from 'node:stream';
import { spec as Spec, type TestEvent } from 'node:test/reporters';

const listed = 10;
/** The reporter of `npm test`: that of Node, then the slowest files. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: { readonly name: string; readonly seconds: number }[] = [];
  const watched = async function* (): AsyncGenerator<TestEvent> {
    for await (const event of events) {
      yield event;
      // A file is a suite of its process (test/harness/run-files.ts).
      if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
      const { name, nesting, details } = event.data;
      if (nesting === 0 && details.type === 'suite')
        files.push({ name, seconds: details.duration_ms / 1000 });
    }
  };
  yield* Readable.from(watched()).pipe(new Spec());
  const slowest = files.toSorted((one, other) => other.seconds - one.seconds).slice(0, listed);
  yield `ℹ slowest of ${files.length} files\n`;
  for (const { name, seconds } of slowest) yield `ℹ ${seconds.toFixed(1).padStart(6)} s ${name}\n`;
}
