import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { until } from '../harness/until.ts';

// A server without requests costs little: its polls are few.

/** Polls for changes 1.3, heartbeats 1, expiry 1, alarms 0.5, rollups 0.2; see docs/performance.md. */
const maxPerSecond = 6;
const measuredMs = 6_000;

let naru: TestGateway;
before(async () => {
  naru = await startTestGateway();
});
after(() => naru?.close());

async function transactions(): Promise<number> {
  const [row] = await naru.database.query<{ n: bigint }>(
    'SELECT xact_commit + xact_rollback AS n FROM pg_stat_database WHERE datname = current_database()',
  );
  return Number(row?.n ?? 0n);
}

test(`an idle server makes at most ${maxPerSecond} transactions a second`, async () => {
  // The server's statistics lag by a second.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const before = await transactions();
  const beganMs = performance.now();
  await until('the time to measure', () => performance.now() - beganMs > measuredMs, 2 * measuredMs);
  const perSecond = ((await transactions()) - before) / ((performance.now() - beganMs) / 1000);
  assert.ok(perSecond > 1, `the statistics of the server count: ${perSecond}`);
  assert.ok(perSecond <= maxPerSecond, `${perSecond.toFixed(1)} transactions a second`);
});
