import { test } from 'node:test';
import { byTier, testSeed } from '../harness/tier.ts';
import { assertMet } from './audit.ts';
import { runKills } from './kill-trials.ts';

test('the ledger after kill -9 agrees with what clients received before it', async () => {
  assertMet(
    await runKills({
      trials: byTier(1, 4),
      clients: byTier(4, 32),
      seed: testSeed,
      sabotage: 'none',
      print: () => {},
    }),
  );
});
