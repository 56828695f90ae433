import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runSeeds } from './campaign.ts';
import { mutated } from './mutate.ts';
import { mutations } from './mutations.ts';
import { runPoints } from './points.ts';

test('200 simulated worlds keep every promise about money, whatever fails, and the same seed is the same world', async (t) => {
  const { report, failed } = await runSeeds({ from: 1, seeds: 200, steps: 2_500, twice: 20 });
  for (const line of report) t.diagnostic(line);
  assert.equal(failed, false, report.join('\n'));
});

test('whichever commit or sync of a small world a process dies before or after, every promise is kept', async (t) => {
  const { report, failed } = await runPoints({ from: 1, worlds: 3, steps: 300 });
  for (const line of report) t.diagnostic(line);
  assert.equal(failed, false, report.join('\n'));
});

test('every mistake that the simulator must find can still be made', () => {
  assert.ok(mutations.length >= 12);
  for (const mutation of mutations)
    assert.doesNotThrow(() =>
      mutated(readFileSync(join(import.meta.dirname, '../..', mutation.file), 'utf8'), mutation),
    );
});
