import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const room = new URL('../../src/slots/', import.meta.url);

test('the rules that the code quotes are in design.md', () => {
  const design = readFileSync(new URL('design.md', room), 'utf8');
  const sources = readdirSync(room, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const quoted = sources.flatMap((name) =>
    [...readFileSync(new URL(name, room), 'utf8').matchAll(/\(design\.md, ([^)]+)\)/g)].flatMap(([, rules]) =>
      [...(rules ?? '').matchAll(/[A-Z]\d*/g)].map(([rule]) => ({ name, rule })),
    ),
  );
  assert.ok(quoted.length >= 10);
  for (const { name, rule } of quoted)
    assert.match(design, new RegExp(`^(- \\*\\*${rule}\\*\\*|## ${rule}\\.) `, 'm'), `${rule} of ${name}`);
});
