import { test } from 'node:test';
import { assertMet } from './audit.ts';
import { runKills } from './kill-trials.ts';

test('what clients saw before kill -9 is what the books say after it', async () => {
  assertMet(
    await runKills({
      trials: 4,
      clients: 32,
      seed: 20_261_121,
      sabotage: 'none',
      print: () => {},
    }),
  );
});
