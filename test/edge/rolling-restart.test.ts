/**
 * Two Naru servers on one database behind nginx, restarted one after the other under load: no
 * client notices, and the ledger agrees.
 */

import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { test } from 'node:test';
import { Database } from '../../src/store/database.ts';
import { assertMet, auditHistory, readLedger } from '../chaos/audit.ts';
import { type OrderedRequest, request, type Sight } from '../chaos/client.ts';
import { startLoad } from '../chaos/load.ts';
import { createSite, startNaru } from '../chaos/naru-process.ts';
import { scriptedReply } from '../chaos/orders.ts';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { freePort } from '../harness/free-port.ts';
import { createPayer, operatorOn, type Payer } from '../harness/payer.ts';
import { byTier } from '../harness/tier.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream } from '../harness/upstream.ts';
import type { Gate } from '../harness/upstream-actions.ts';
import { type Nginx, startNginx } from './nginx.ts';

const rounds = 1;

// spec:errors/12.2 spec:money/5.4
test('a rolling restart cuts no stream, fails no request, and bills every response once', {
  timeout: 170_000,
}, async (t) => {
  const gates = new Map<string, Gate>();
  const upstream = await startUpstream();
  upstream.respond(({ body }) => {
    const [message] = (body['messages'] as readonly { readonly content: string }[] | undefined) ?? [];
    const hold = gates.get(message?.content ?? '');
    return hold === undefined ? scriptedReply(body) : reply.stream(['begun ', hold, 'and ended']);
  });
  const shared = await createTestDatabase();
  const database = new Database(shared.address, 2);
  const operator = operatorOn(database);
  const over = {
    database: { url: urlOf(shared.address) },
    edge: { rate_limit: 'external', trusted_proxies: ['127.0.0.1'] },
  };
  const ports = [await freePort(), await freePort()];
  const sites = ports.map((port) => createSite(upstream.url, over, port));
  t.after(async () => {
    for (const site of sites) await site.end();
    await upstream.close();
    await database.close();
    await shared.drop();
  });
  const narus = new Map<number, Awaited<ReturnType<typeof startNaru>>>();
  for (const [at, site] of sites.entries()) narus.set(at, await startNaru(site));
  const nginx = await startNginx({ behind: ports, unlimited: true });
  t.after(() => nginx.stop());
  const payers = [
    await createPayer(operator, '100000000', 2),
    await createPayer(operator, '70000000.123456', 2),
  ];
  const load = startLoad(nginx.url, payers, {
    ...{ clients: byTier(4, 12), seed: 5, name: 'load', mayWait: true },
    // While servers start: what a request meets does not depend on how many there are.
    pauseMs: byTier(30, 0),
  });
  const long: Promise<Sight>[] = [];
  const agent = new Agent({ keepAlive: true });

  for (let round = 0; round < rounds; round += 1) {
    for (const [at, site] of sites.entries()) {
      // Long streams on both that last until the restart is over: those of the other server are
      // unaffected.
      const holds = [0, 1, 2, 3].map((n) => {
        const tag = `long-${round}-${at}-${n}`;
        const hold = gate();
        gates.set(tag, hold);
        long.push(request(nginx.url, longOrder(payers, tag), agent));
        return hold;
      });
      await Promise.all(holds.map((hold) => hold.reached));
      const before = load.sights.length;
      await until('the load goes on', () => load.sights.length > before + byTier(10, 30), 30_000);
      const naru = narus.get(at);
      assert.ok(naru !== undefined);
      const stopped = naru.stop();
      const meanwhile = load.sights.length;
      await until('the other one serves', () => load.sights.length > meanwhile + byTier(10, 30), 30_000);
      assert.equal(naru.child.exitCode, null, 'it waits for its streams');
      for (const hold of holds) hold.open();
      assert.equal(await stopped, 0);
      // The last one of the quick tier would start to be stopped.
      if (byTier(site !== sites.at(-1), true)) narus.set(at, await startNaru(site));
      else narus.delete(at);
    }
  }
  await load.stop();
  const sights = [...load.sights, ...(await Promise.all(long))];
  agent.destroy();
  const failed = sights.filter(({ kind, errorType }) => kind === 'unseen' || errorType === 'server');
  assert.deepEqual(
    failed.map(({ order, status, kind }) => `${order.tag}: ${kind} ${status}`),
    [],
    whatNginxSaw(nginx),
  );
  assert.ok(
    (await Promise.all(long)).every(({ kind }) => kind === 'success'),
    'every long stream came to its end',
  );
  for (const naru of narus.values()) assert.equal(await naru.stop(), 0);
  assertMet(auditHistory(sights, await readLedger(operator)));
  t.diagnostic(
    `${sights.length} requests and ${long.length} long streams over ${rounds * sites.length} restarts`,
  );
});

/** Its errors except refused connections, which are expected in a restart. */
function whatNginxSaw(nginx: Nginx): string {
  const lines = nginx.log().split('\n');
  return lines.filter((line) => !line.includes('Connection refused')).join('\n');
}

function longOrder(payers: readonly Payer[], tag: string): OrderedRequest {
  const [payer] = payers;
  const [key] = payer?.keys ?? [];
  if (payer === undefined || key === undefined) throw new Error('no payer');
  const messages = [{ role: 'user', content: tag }];
  return {
    tag,
    accountId: payer.accountId,
    key: key.key,
    path: '/chat/completions',
    body: { model: 'test/echo', stream: true, messages },
    leaveAfterMs: null,
  };
}
