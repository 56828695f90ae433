import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CliContext } from '../../src/cli/context.ts';
import { Output } from '../../src/cli/output.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const unprintable = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/;
const hostile = 'app\x1b]52;c;cm0=\x07\x1b[2J\x9b31m\r\x7f\u2028 \u202e\u2067나루';

// security:24
test('a name chosen by a client or an engine is printed by a command without terminal sequences', async () => {
  for (const json of [false, true]) {
    let printed = '';
    const out = async (text: string): Promise<void> => {
      printed += text;
    };
    const shell = { out, err: () => {} } as unknown as CliContext;
    const output = new Output(shell, json);
    await output.one(`name\t${hostile}\nnext`, { name: hostile });
    await output.rows(['name'], [{ name: hostile }]);
    assert.doesNotMatch(printed, unprintable);
    assert.equal([...printed.matchAll(/나루/g)].length, 2);
    const rows = printed.split('\n').filter((line) => line.startsWith('{'));
    for (const row of rows) assert.equal(JSON.parse(row).name, hostile, 'nothing is lost');
    assert.equal(rows.length, json ? 2 : 0);
  }
});
