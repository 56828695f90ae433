import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ScaleFigures, scaleRow } from '../../bench/scale-sums.ts';
import { keptInMemory } from '../../src/app/accounting.ts';

/* docs/scale.md: its computed figures follow from its measured ones. */

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/scale.md'), 'utf8');

function cellsUnder(heading: string): readonly (readonly string[])[] {
  const section = page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(1).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function measured(name: string): number {
  const row = cellsUnder('Measured').find(([first]) => first === name);
  assert.ok(row !== undefined, `no row "${name}"`);
  return Number((row[1] ?? '').replaceAll(',', ''));
}

test('the sizes of larger installations follow from the measured figures', () => {
  const figures: ScaleFigures = {
    rowBytes: measured('bytes of a generation: row'),
    indexBytes: measured('bytes of a generation: index'),
    ledgerBytes: measured('bytes of its ledger entry'),
    ledgerIndexBytes: measured('bytes of its ledger entry: indexes'),
    journalBytes: measured('bytes of a request in the journal'),
    settlementsPerSecond: measured('settlements/s of one database'),
    accountBytes: measured('bytes of memory of a known account'),
    keyBytes: measured('bytes of memory of a known key'),
  };
  for (const figure of Object.values(figures)) assert.ok(figure > 0);
  const rows = cellsUnder('Computed');
  assert.ok(rows.length >= 4);
  for (const row of rows) {
    const [perDay = '', accounts = ''] = row;
    assert.deepEqual(
      row,
      scaleRow(figures, Number(perDay.replaceAll(',', '')), Number(accounts.replaceAll(',', ''))),
    );
  }
});

test("a node's memory is bounded by cache eviction", () => {
  const kept =
    (keptInMemory *
      (measured('bytes of memory of a known account') + measured('bytes of memory of a known key'))) /
    1e9;
  assert.equal(cellsUnder('Computed').at(-1)?.[6], `${kept.toFixed(1)} GB`);
  assert.match(page, new RegExp(`keeps ${keptInMemory.toLocaleString('en')} accounts`));
});

test('every command of the page is a script of the package', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const named = [...page.matchAll(/npm run ([a-z:]+)/g)].map(([, name = '']) => name);
  assert.ok(named.includes('bench:scale'));
  for (const name of named) assert.ok(name in scripts, name);
});

test('the key of every account table starts with the account, so that it can be partitioned', () => {
  const schema = readFileSync(join(root, 'src/store/migrations/schema.txt'), 'utf8');
  for (const table of ['generation', 'account_balance', 'key_usage_day', 'app', 'ledger', 'credit_lot'])
    assert.match(schema, new RegExp(`^${table}: \\w+ PRIMARY KEY \\(account_id`, 'm'), table);
});
