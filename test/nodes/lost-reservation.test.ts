import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startCutter } from '../chaos/proxy.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { reply, startUpstream, usage } from '../harness/upstream.ts';

// Two nodes on one database: each request of a fresh account takes a lease by a transaction.

/** 20 won: 10 prompt tokens at 1 won, 5 completion tokens at 2. */
const costWon = 20;
const body = { model: 'test/echo', max_tokens: 5, messages: [{ role: 'user', content: 'hello there' }] };

interface CutNode {
  readonly naru: TestGateway;
  readonly other: TestGateway;
  /** From now on the next COMMIT of the first node is cut; resolves with whether one was. */
  cutNextCommit(fate: 'unanswered' | 'unasked'): () => boolean;
}

async function start(t: TestContext): Promise<CutNode> {
  const upstream = await startUpstream();
  upstream.always(reply.chat('hello there', { usage: usage(10, 5) }));
  const models = [{ id: 'test/echo', upstreams: [upstream.url] }];
  const config = { limits: { debt_floor_krw: 0 } };
  let cutter: Awaited<ReturnType<typeof startCutter>> | undefined;
  const naru = await startTestGateway({
    ...{ models, config },
    through: async (address) => {
      cutter = await startCutter(address);
      return cutter.address;
    },
  });
  const other = await startTestGateway({ models, config, beside: naru });
  t.after(async () => {
    await other.close();
    await naru.close();
    await cutter?.close();
    await upstream.close();
  });
  return {
    naru,
    other,
    cutNextCommit(fate) {
      const before = cutter?.cuts ?? 0;
      let isCut = false;
      cutter?.onCommit(() => {
        if (isCut) return 'delivered';
        isCut = true;
        return fate;
      });
      return () => (cutter?.cuts ?? 0) > before;
    },
  };
}

for (const fate of ['unanswered', 'unasked'] as const) {
  test(`a reservation whose COMMIT is ${fate} is made again, and counts once`, async (t) => {
    const { naru, other, cutNextCommit } = await start(t);
    // Known to the node, and without a lease of it.
    const { key, accountId } = await other.account({ credit: String(10 * costWon) });
    assert.equal((await naru.send('GET', '/key', { key })).status, 200);
    const wasCut = cutNextCommit(fate);
    assert.equal((await naru.send('POST', '/chat/completions', { key, body })).status, 200);
    assert.ok(wasCut(), 'no COMMIT was cut');
    // Ten cost what there is: one that still counted twice would leave room for fewer at a time, and
    // wait for ever.
    const responses = await Promise.all(
      Array.from({ length: 15 }, () => naru.send('POST', '/chat/completions', { key, body })),
    );
    const succeeded = responses.filter(({ status }) => status === 200).length;
    assert.equal(succeeded, 9);
    assert.ok(responses.every(({ status }) => status === 200 || status === 402));
    await naru.settled();
    const account = await naru.operator.readAccount(accountId);
    assert.equal(account?.usage, account?.credits);
    assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
  });
}
