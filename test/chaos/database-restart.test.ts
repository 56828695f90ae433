import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../harness/free-port.ts';
import { createPayer } from '../harness/payer.ts';
import { byTier } from '../harness/tier.ts';
import { until } from '../harness/until.ts';
import { startUpstream } from '../harness/upstream.ts';
import { assertMet, auditHistory, auditMemory, expectedRefusals, readJson, readLedger } from './audit.ts';
import { startLoad } from './load.ts';
import { createSite, isRunning, postmasterOf, startNaru } from './naru-process.ts';
import { scriptedReply } from './orders.ts';

test('the database is killed under load: Naru starts again with it, and every response is charged once', async (t) => {
  const upstream = await startUpstream();
  upstream.respond(({ body }) => scriptedReply(body));
  const site = createSite(upstream.url, {}, await freePort());
  t.after(async () => {
    await upstream.close();
    await site.end();
  });
  const naru = await startNaru(site, [], true);
  const ledger = await site.openAccounting();
  t.after(() => ledger.close());
  const payers = [
    await createPayer(ledger.operator, '50000000', 2),
    await createPayer(ledger.operator, '60000000', 2),
  ];
  const load = startLoad(naru.url, payers, {
    clients: byTier(6, 16),
    seed: 11,
    name: 'restart',
    mayWait: true,
    pauseMs: byTier(15, 0),
  });
  // What fails while Naru restarts is no sign that it serves.
  const successes = (): number => load.sights.filter(({ kind }) => kind === 'success').length;
  // A server that is killed twice: test/postgres/embedded-crash.test.ts.
  for (const signal of byTier(['SIGKILL', 'SIGINT'] as const, ['SIGKILL', 'SIGINT', 'SIGKILL'] as const)) {
    const before = successes();
    await until('it is under load', () => successes() > before + byTier(5, 20), 20_000);
    const pid = postmasterOf(site) ?? assert.fail('no PostgreSQL');
    process.kill(pid, signal);
    await until('another PostgreSQL runs', () => ![null, pid].includes(postmasterOf(site)), 20_000);
    await until('it is in use', () => ledger.database.query('SELECT 1').then(Boolean, () => false), 20_000);
  }
  const before = successes();
  await until('it serves on', () => successes() > before + byTier(20, 50), 20_000);
  await load.stop();
  // Every settlement is in the database when there are as many charges as responses, and as many
  // records as requests that reached a candidate or were refused.
  const responded = successes();
  const recorded = load.sights.filter(
    ({ status, errorType }) => status !== null && errorType !== 'server',
  ).length;
  await until(
    'it is settled',
    async () => {
      const { entries, generations } = await readLedger(ledger.operator);
      return (
        entries.filter(({ kind }) => kind === 'usage').length >= responded && generations.length >= recorded
      );
    },
    10_000,
  );
  const exported = await readLedger(ledger.operator);
  assertMet(auditHistory(load.sights, exported, new Set([...expectedRefusals, 'server'])));
  for (const { key } of payers.flatMap((payer) => payer.keys)) await readJson(`${naru.url}/key`, key);
  await until(
    'memory agrees',
    async () =>
      (await auditMemory(naru.url, payers, exported.entries, exported.generations)).faults.length === 0,
    5_000,
  );
  const failed = load.sights.filter((sight) => sight.errorType === 'server').length;
  const unseen = load.sights.filter((sight) => sight.kind === 'unseen').length;
  t.diagnostic(`${responded} responses, ${failed} × 500 server, ${unseen} without a response`);
  assert.match(site.log.join(''), /the server ended unexpectedly \(exit code 75\)/);
  const postmaster = postmasterOf(site);
  assert.equal(await naru.stop(), 0);
  assert.ok(postmaster !== null && !isRunning(postmaster), 'no server is left');
});
