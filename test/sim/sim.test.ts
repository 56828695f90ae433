import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runSeeds } from './campaign.ts';

test('200 simulated worlds keep every promise about money, whatever fails, and the same seed is the same world', async (t) => {
  const { report, failed } = await runSeeds({ from: 1, seeds: 200, steps: 1_500, twice: 20 });
  for (const line of report) t.diagnostic(line);
  assert.equal(failed, false, report.join('\n'));
});
