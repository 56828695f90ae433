import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byTier, testSeed } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { runMatrix } from './faults/matrix.ts';
import { reportMatrix } from './faults/report.ts';

/**
 * Limits of two seconds where the command has 300 ms, more beside a load, and the light faults only, since beside other
 * tests the processor is shared. Each fault is requested as a stream of one candidate and as a JSON
 * response of three, or the other way round; the command runs all.
 */
test('however an upstream misbehaves, the client, the charge and the record are right, and no connection stays open', async () => {
  const report = await runMatrix({
    ...{ scale: Math.max(6, 2 * scaledLimit(1)), marginMs: 5_000, only: '', seed: testSeed, brief: true },
    maxFaults: byTier(50, Infinity),
  });
  const lines: string[] = [];
  const isMet = reportMatrix(report, (line) => lines.push(line));
  assert.ok(isMet, lines.join('\n'));
  assert.ok(report.verdicts.length >= byTier(80, 600), `${report.verdicts.length} cells`);
});
