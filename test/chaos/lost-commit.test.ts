import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPayer } from '../harness/payer.ts';
import { byTier } from '../harness/tier.ts';
import { until } from '../harness/until.ts';
import { assertMet, auditHistory, auditMemory, expectedRefusals, readJson, readLedger } from './audit.ts';
import { startBehindCutter } from './gateway-behind-cutter.ts';
import { startLoad } from './load.ts';
import type { Fate } from './proxy.ts';

const wanted = byTier(4, 30);

for (const fate of ['unanswered', 'unasked'] satisfies Fate[]) {
  test(`${wanted} COMMITs under load that are ${fate}: the ledger and the memory agree exactly with what clients received`, async (t) => {
    const { naru, cutter, operator } = await startBehindCutter(t);
    const payers = [await createPayer(operator, '90000000', 2), await createPayer(operator, '8000000', 2)];
    for (const { key } of payers.flatMap((payer) => payer.keys)) await readJson(`${naru.url}/key`, key);

    let commits = 0;
    cutter.onCommit(() => {
      commits += 1;
      return cutter.cuts < wanted && commits % 2 === 0 ? fate : 'delivered';
    });
    const load = startLoad(naru.url, payers, { clients: byTier(8, 16), seed: 5, name: fate });
    const isEnough = () =>
      cutter.cuts >= wanted &&
      load.sights.filter((sight) => sight.kind === 'success').length > byTier(40, 100);
    await until('all cuts are made under load', isEnough, 30_000);
    await load.stop();
    await naru.settled();

    const accounting = await readLedger(operator);
    for (const line of naru.logged)
      if (line['event'] === 'internal_error') t.diagnostic(String(line['detail']));
    // On a busy machine the silence of the database lasts long enough for it to be away.
    const wasAway = naru.logged.some(({ event }) => event === 'database_away');
    const allowed = new Set([...expectedRefusals, ...(wasAway ? ['server'] : [])]);
    assertMet(auditHistory(load.sights, accounting, allowed));
    // A job reads a key again whose settlement was committed without a response.
    await until(
      'memory agrees',
      async () =>
        (await auditMemory(naru.url, payers, accounting.entries, accounting.generations)).faults.length === 0,
      2_000,
    );
    assert.equal(naru.logged.filter((line) => line['event'] === 'settlement_quarantined').length, 0);
  });
}
