import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GrowingMarkdown } from '../../web/src/dashboard/playground/markdown.ts';

const text = [
  '## Title',
  'A **bold** word, `code` and a [link](https://example.com).',
  '1. one\n2. two\n   - inner\n\n3. three, behind an empty line',
  '```ts\nfor (const one of many) {\n\n  await one;\n}\n```',
  '| a | b |\n|---|---:|\n| 1 | 2 |',
  '> quoted\nand on',
  'Setext\n---',
  '    indented\n    code',
  '<div>\nx\n</div>',
  '- a\n- b\n\n\n\ntext\nlazy\n\n* * *\n\n',
].join('\n\n');

// pages:U11
test('an answer that grows has the blocks of its whole text, whatever its pieces', () => {
  const expected = new GrowingMarkdown().blocksOf(text + text).tokens;
  const told = ({ type, raw }: { readonly type: string; readonly raw: string }) => [type, raw];
  for (const size of [1, 3, 7, 50]) {
    const growing = new GrowingMarkdown();
    for (let end = size; end < 2 * text.length; end += size) growing.blocksOf((text + text).slice(0, end));
    assert.deepEqual(growing.blocksOf(text + text).tokens.map(told), expected.map(told), `pieces of ${size}`);
  }
});

// pages:U11
test('a text that nests beyond all reason is shown as it is', () => {
  const deep = '>'.repeat(20_000);
  const { tokens } = new GrowingMarkdown().blocksOf(`# one\n\n${deep}\n\n# two`);
  assert.deepEqual(
    tokens.filter(({ type }) => type !== 'space').map(({ type, raw }) => [type, raw.trim()]),
    [
      ['heading', '# one'],
      ['html', deep],
      ['heading', '# two'],
    ],
  );
});
