import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Journal } from '../../src/ledger/journal/journal.ts';
import { encodeFinal, finalType } from '../../src/ledger/journal-records.ts';
import { settleJournal } from '../../src/ledger/journal-recovery.ts';
import { silentLog } from '../../src/log/log.ts';
import { isRecent, systemClock } from '../../src/time/clock.ts';
import { tempDir } from '../harness/fake-engine.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { settlementAt } from '../harness/settlement.ts';
import { reply, startUpstream, usage } from '../harness/upstream.ts';

const body = { model: 'test/echo', max_tokens: 5, messages: [{ role: 'user', content: 'hello there' }] };

test("settlements of a node's old journal, replayed without its start, are known to the serving node", async (t) => {
  const upstream = await startUpstream();
  upstream.always(reply.chat('hello', { usage: usage(10, 5) }));
  const naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  t.after(async () => {
    await naru.close();
    await upstream.close();
  });
  const { key, hash, accountId } = await naru.account({ credit: '100000', limit: '200' });
  assert.equal((await naru.send('POST', '/chat/completions', { key, body })).status, 200);
  await naru.settled();
  const { id: keyId } = (await naru.operator.readKey(hash)) ?? assert.fail('no key');
  const home = tempDir();
  const journal = await Journal.open({ dir: join(home, 'journal'), clock: systemClock });
  // spec:money/7.9
  const ofClockAhead = Date.now() + 86_400_000;
  const settled = settlementAt(ofClockAhead, { accountId, keyId, cost: 200_000_000n });
  await journal.durable(journal.append(finalType, encodeFinal(settled)));
  await journal.close();
  const config = {
    database: { url: 'embedded' },
    settlement: { ack: 'journal', keepSettledMs: null },
  } as const;
  await settleJournal(home, { database: naru.database, config, log: silentLog });
  const known = async (): Promise<readonly number[]> => [
    (await naru.send('GET', '/key', { key })).json.data.usage,
    (await naru.send('GET', '/credits', { key })).json.data.total_usage,
  ];
  const [entry] = await naru.database.query<{ created_at: number }>(
    'SELECT created_at FROM ledger WHERE amount = -200000000',
  );
  assert.ok(isRecent(Number(entry?.created_at), Date.now(), 60_000), 'it is settled now, not tomorrow');
  const endMs = performance.now() + 2_000;
  while ((await known()).some((won) => won !== 220))
    assert.ok(performance.now() < endMs, `it knows of ${await known()}`);
  assert.equal((await naru.send('POST', '/chat/completions', { key, body })).status, 402);
});
