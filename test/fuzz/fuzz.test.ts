/**
 * Thousands of valid and invalid requests drawn from the API's own document: nothing breaks,
 * nothing leaks, every won is accounted for.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogue, errorTypeOf } from '../../src/errors/catalogue.ts';
import { byTier, testSeed } from '../harness/tier.ts';
import { assertNoMoreThan, assertUnharmed, resources } from './aftermath.ts';
import { runCampaign } from './campaign.ts';
import { errorsSeen, printCampaign, successPercent, unreached } from './report.ts';
import { startWorld } from './world.ts';

/**
 * The catalogue's failures that no request can cause here: the limiter is off, and nothing is
 * broken inside.
 */
const uncaused = new Set(['429 rate_limit_exceeded', '500 server']);

const total = byTier(3_000, 20_000);
const warmUp = total / 10;

// spec:conformance/5,7,8,9,10,11,19
test('requests drawn from the OpenAPI document violate no rule of it', { timeout: 600_000 }, async (t) => {
  const seed = testSeed;
  const atRest = resources();
  const world = await startWorld();
  t.after(() => world.close());
  const warm = await runCampaign(world, { seed, requests: warmUp });
  assert.equal(warm.finding, null, `seed ${seed}: ${JSON.stringify(warm.finding)}`);
  const before = resources();
  const campaign = await runCampaign(world, { seed, from: warmUp + 1, requests: total - warmUp });
  printCampaign(campaign, (line) => t.diagnostic(line));
  assert.equal(campaign.finding, null, `seed ${seed}: ${JSON.stringify(campaign.finding)}`);
  await assertNoMoreThan(before);
  await assertUnharmed(world, [warm, campaign]);
  assert.ok(successPercent(campaign) >= 35, `${successPercent(campaign)} % reach their end`);
  assert.deepEqual(unreached(campaign), []);
  const failures = Object.keys(catalogue) as (keyof typeof catalogue)[];
  const wanted = failures.map((failure) => `${catalogue[failure].status} ${errorTypeOf(failure)}`);
  const seen = errorsSeen(campaign);
  assert.deepEqual(
    wanted.filter((pair) => !seen.has(pair) && !uncaused.has(pair)),
    [],
  );
  await world.close();
  await assertNoMoreThan(atRest);
});
