/**
 * The table of `docs/conformance.md`: the tests of each assertion of `docs/spec/conformance.md`. A
 * test names them in a comment above it: `// spec:conformance/21,22`, or
 * `// spec:conformance/157-175`.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { numbersOf, specificationPages } from './specification.ts';

const root = join(import.meta.dirname, '..');
/** Assertions without a test, each with the reason. */
export const waitingAssertions: ReadonlyMap<number, string> = new Map();
/** The file of the table. */
export const conformanceFile = join(root, 'docs/conformance.md');

/** A test with assertions. */
export interface HoldingTest {
  readonly file: string;
  readonly name: string;
  readonly numbers: readonly number[];
}

/** The assertions of `docs/spec/conformance.md`, each as one line of text. */
export function assertions(): ReadonlyMap<number, string> {
  const page = specificationPages().find(({ name }) => name === 'conformance');
  const rows = page?.text.matchAll(/^\| \*\*(\d+)\*\* \| (.+?) \| (.+?) \| `spec:/gm) ?? [];
  return new Map([...rows].map(([, number, request, holds]) => [Number(number), `${request}: ${holds}`]));
}

/** Every test with a citation of assertions, in file order. */
export function holdingTests(): readonly HoldingTest[] {
  const files = globSync('test/**/*.test.ts', { cwd: root }).sort();
  return files.flatMap((file) => testsOf(file, readFileSync(join(root, file), 'utf8')));
}

/** The document: each assertion with its tests. */
export function conformanceDocument(tests: readonly HoldingTest[]): string {
  const stated = assertions();
  const held = new Map<number, HoldingTest[]>();
  for (const test of tests)
    for (const number of test.numbers) held.set(number, [...(held.get(number) ?? []), test]);
  const missing = [...stated.keys()].filter((number) => !held.has(number));
  const lines = [...stated].flatMap(([number, text]) =>
    (held.get(number) ?? []).map(({ file, name }, index) => {
      const first = index === 0 ? `| ${number} | ${text}` : '| |';
      return `${first} | \`${file}\`: ${name.replaceAll('|', '\\|')} |`;
    }),
  );
  return `# Conformance

Which tests hold which assertion of [the specification](spec/conformance.md). \`scripts/conformance.ts\`
writes this page from the comments above the tests; \`test/docs/conformance.test.ts\` compares it
with them.

Held: ${stated.size - missing.length} of ${stated.size} assertions.
${missing.map((number) => `${number} waits for ${waitingAssertions.get(number) ?? 'a test'}.\n`).join('')}
| No. | Assertion | Test |
|---:|---|---|
${lines.join('\n')}
`;
}

function testsOf(file: string, text: string): readonly HoldingTest[] {
  // More comment lines or the head of a loop may stand between the citation and the test.
  const pattern =
    /^[ \t]*\/\/ spec:conformance\/([\d,-]+)[^\n]*\n(?:(?!^[ \t]*\/\/ spec:conformance\/)[\s\S]){0,1500}?\btest\(\s*(['"`])((?:\\.|(?!\2)[\s\S])*)\2/gm;
  return [...text.matchAll(pattern)].map(([, numbers = '', , name = '']) => ({
    file,
    name: name.replace(/\\(.)/g, '$1'),
    numbers: numbersOf(numbers).map(Number),
  }));
}

if (import.meta.main) writeFileSync(conformanceFile, conformanceDocument(holdingTests()));
