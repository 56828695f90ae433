import assert from 'node:assert/strict';
import { type Krw, krwToDecimal, krwToNumber } from '../../src/money/krw.ts';
import { until } from '../harness/until.ts';
import type { Campaign } from './campaign.ts';
import type { World } from './world.ts';

/** How many of each kind of resource keeps this process alive: sockets, timers, child processes. */
export function resources(): ReadonlyMap<string, number> {
  const names = process.getActiveResourcesInfo();
  return new Map([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));
}

/** Fails unless, after a while, no resource count exceeds the earlier one. */
export async function assertNoMoreThan(before: ReadonlyMap<string, number>): Promise<void> {
  const excess = (): readonly string[] =>
    [...resources()].flatMap(([name, count]) => {
      const was = before.get(name) ?? 0;
      return count > was && name !== 'Immediate' ? [`${name}: ${was} before, ${count} now`] : [];
    });
  await until('resources are back to where they were', () => excess().length === 0, 30_000).catch(() => {
    assert.deepEqual(excess(), []);
  });
}

/**
 * Fails unless the service is as after valid use only: nothing in flight, no internal error, no
 * leaked reservation, and a ledger in which exactly the received responses are paid, each once and
 * at its price.
 */
export async function assertUnharmed(world: World, campaigns: readonly Campaign[]): Promise<void> {
  const { naru } = world;
  await until('nothing is in flight', () => naru.gateway.server.inFlight() === 0, 20_000);
  await naru.settled();
  const internal = naru.logged.filter(
    (line) => line['event'] === 'internal_error' || line['level'] === 'error',
  );
  assert.deepEqual(internal, []);
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
  const paid = new Map<string, bigint>();
  for await (const entry of naru.operator.exportEntries(null)) {
    if (entry.kind !== 'usage') continue;
    const uuid = String(entry.generationUuid);
    assert.ok(!paid.has(uuid), `${uuid} has two entries`);
    paid.set(uuid, -entry.amountMicro);
  }
  const costs = campaigns.flatMap((each) => [...each.generations.values()]);
  const seen = costs.filter((cost): cost is bigint => cost !== null && cost > 0n).sort(ascending);
  assert.deepEqual(
    [...paid.values()].sort(ascending),
    seen,
    'the entries equal the costs that clients received',
  );
  await assertMemoryAgrees(world);
}

/**
 * Memory agrees with the ledger and has no reservation: a limit one micro-won above the usage still
 * admits.
 */
async function assertMemoryAgrees({ naru, payer, steward }: World): Promise<void> {
  const row = await naru.operator.readAccount(payer.accountId);
  assert.ok(row !== null);
  const { data: credits } = (await naru.send('GET', '/credits', { key: payer.key })).json;
  assert.equal(credits.total_usage, krwToNumber(row.usage as Krw));
  const { data } = (await naru.send('GET', '/key', { key: payer.key })).json;
  const above = krwToDecimal((BigInt(Math.round(data.usage * 1e6)) + 1n) as Krw);
  const limited = await naru.send('PATCH', `/keys/${payer.hash}`, {
    key: steward,
    body: `{"limit":${above}}`,
  });
  assert.equal(limited.status, 200, limited.text);
  const body = { model: 'test/echo', messages: [{ role: 'user', content: 'still there?' }] };
  const response = await naru.send('POST', '/chat/completions', { key: payer.key, body });
  assert.equal(response.status, 200, response.text);
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
