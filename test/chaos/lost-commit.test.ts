import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestGateway } from '../harness/gateway.ts';
import { startUpstream } from '../harness/upstream.ts';
import { assertMet, auditHistory, auditMemory, readBooks } from './audit.ts';
import { startLoad } from './load.ts';
import { createPayer, until } from './naru-process.ts';
import { scriptedReply } from './orders.ts';
import { type Cutter, type Fate, startCutter } from './proxy.ts';

const wanted = 30;

for (const fate of ['unanswered', 'unasked'] satisfies Fate[]) {
  test(`${wanted} COMMITs under load that are ${fate}: the books and the memory agree exactly with what clients saw`, async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    upstream.answer(({ body }) => scriptedReply(body));
    let proxy: Cutter | null = null;
    const naru = await startTestGateway({
      models: [{ id: 'test/echo', upstreams: [upstream.url] }],
      through: async (address) => {
        proxy = await startCutter(address);
        return proxy.address;
      },
    });
    t.after(async () => {
      await naru.close();
      await proxy?.close();
    });
    const between = proxy as Cutter | null;
    assert.ok(between !== null);
    const payers = [
      await createPayer(naru.office, '90000000', 2),
      await createPayer(naru.office, '8000000', 2),
    ];

    let commits = 0;
    between.onCommit(() => {
      commits += 1;
      return between.cuts < wanted && commits % 2 === 0 ? fate : 'answered';
    });
    const load = startLoad(naru.url, payers, { clients: 16, seed: 5, name: fate });
    await until('all cuts are made', () => between.cuts >= wanted, 30_000);
    console.log("cuts", between.cuts, load.inFlight); await load.stop(); console.log("stopped");
    await naru.settled(); console.log("settled");

    console.log("n", load.sights.length); const rows1 = await Array.fromAsync(naru.office.exportEntries(null)); console.log("e", rows1.length); await naru.office.verifyLedger(); console.log("v"); const books = await readBooks(naru.office); console.log("books");
    assertMet(auditHistory(load.sights, books));
    // A key whose settlement was committed unheard is read again by a job.
    await until(
      'memory agrees',
      async () => (await auditMemory(naru.url, payers, books.entries, books.generations)).faults.length === 0,
      2_000,
    );
    assert.ok(load.sights.filter((sight) => sight.kind === 'success').length > 100);
    assert.equal(naru.logged.filter((line) => line['event'] === 'settlement_quarantined').length, 0);
  });
}
