/**
 * The table of `docs/conformance.md`: which test holds which row of the conformance checklist. A test says so in a comment above
 * it: `// rows 21, 22`, `// row 5`, or `// rows 157-175`.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
/** The checklist has this many rows. */
export const conformanceRows = 262;
/** Rows that no test holds yet, each with what it waits for. */
export const waitingRows: ReadonlyMap<number, string> = new Map([
  [
    257,
    'the pages that show these texts; over the API they are accepted and kept (`test/api/forwarding.test.ts`)',
  ],
]);
/** Where the table stands. */
export const conformanceFile = join(root, 'docs/conformance.md');

/** A test that holds rows. */
export interface HoldingTest {
  readonly file: string;
  readonly name: string;
  readonly rows: readonly number[];
}

/** Every test with a comment about rows, in the order of the files. */
export function holdingTests(): readonly HoldingTest[] {
  const files = globSync('test/**/*.test.ts', { cwd: root }).sort();
  return files.flatMap((file) => testsOf(file, readFileSync(join(root, file), 'utf8')));
}

/** The document: rows that are held, by row, then those that are not. */
export function conformanceDocument(tests: readonly HoldingTest[]): string {
  const held = new Map<number, HoldingTest[]>();
  for (const test of tests) for (const row of test.rows) held.set(row, [...(held.get(row) ?? []), test]);
  const rows = Array.from({ length: conformanceRows }, (_, index) => index + 1);
  const missing = rows.filter((row) => !held.has(row));
  const lines = rows.flatMap((row) =>
    (held.get(row) ?? []).map(
      ({ file, name }) => `| ${row} | \`${file}\` | ${name.replaceAll('|', '\\|')} |`,
    ),
  );
  return `# Conformance

Which test holds which row of the checklist of ${conformanceRows} response-level assertions. Written by \`scripts/conformance.ts\` from the comments above the
tests; \`test/docs/conformance.test.ts\` compares it with them.

Held: ${conformanceRows - missing.length} of ${conformanceRows} rows.
${missing.map((row) => `Row ${row} waits for ${waitingRows.get(row) ?? 'a test'}.`).join('\n')}

| Row | File | Test |
|---:|---|---|
${lines.join('\n')}
`;
}

function testsOf(file: string, text: string): readonly HoldingTest[] {
  // Between the comment and its test may stand more comment, and the head of a loop over cases.
  const pattern =
    /^[ \t]*\/\/ rows? ([\d, \-–]+)[^\n]*\n(?:(?!^[ \t]*\/\/ rows? )[\s\S]){0,1500}?\btest\(\s*(['"`])((?:\\.|(?!\2)[\s\S])*)\2/gm;
  return [...text.matchAll(pattern)].map(([, rows = '', , name = '']) => ({
    file,
    name: name.replace(/\\(.)/g, '$1'),
    rows: numbersOf(rows),
  }));
}

/** `21, 22, 157-175` as numbers. */
function numbersOf(text: string): readonly number[] {
  return [...text.matchAll(/(\d+)(?:\s*[-–]\s*(\d+))?/g)].flatMap(([, from, to]) => {
    const first = Number(from);
    const last = Number(to ?? from);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

if (import.meta.main) writeFileSync(conformanceFile, conformanceDocument(holdingTests()));
