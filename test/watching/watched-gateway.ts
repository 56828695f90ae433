import type { TestContext } from 'node:test';
import { addWorkerMetrics } from '../../src/app/workers/worker-reports.ts';
import { measureProcess } from '../../src/metrics/process-metrics.ts';
import { Registry, readRegistry, renderPage } from '../../src/metrics/registry.ts';
import { startCertificateServer } from '../harness/certificate-server.ts';
import { parseExposition } from '../harness/exposition.ts';
import { configuredEngine } from '../harness/fake-engine.ts';
import { startTestGateway, type TestAccount, type TestGateway, testPrice } from '../harness/gateway.ts';
import { until } from '../harness/until.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';
import type { Scrape } from './promtool.ts';

/** A gateway with a model of each kind, whose metrics page a test reads as Prometheus does. */
export interface WatchedGateway {
  readonly naru: TestGateway;
  readonly upstream: Upstream;
  readonly account: TestAccount;
  send(model: string, options?: { readonly stream?: boolean; readonly title?: string }): Promise<number>;
}

const processMetrics = measureProcess();

/** What `GET /metrics` of a server shows; the process and its workers are those of the test. */
export async function scrape(naru: TestGateway): Promise<Scrape> {
  const workers = new Registry();
  addWorkerMetrics(workers, { serving: 1, restarts: 0 });
  const text = await renderPage([
    await naru.gateway.metrics(),
    await readRegistry(workers),
    await processMetrics(),
  ]);
  return { page: parseExposition(text), atMs: naru.clock.now() };
}

/**
 * `test/good`, `test/limited` (429) and `test/dead` of upstreams, `test/slot` and `test/broken` of
 * engines. The ledger was verified and backed up a moment ago.
 */
export async function startWatchedGateway(t: TestContext): Promise<WatchedGateway> {
  const upstream = await startUpstream();
  const limited = await startUpstream();
  limited.respond(() => reply.tooMany('60'));
  upstream.respond(({ path }) =>
    path.startsWith('/v1/chat') ? reply.chat('네', { usage: usage(10, 5) }) : reply.json({ data: [] }),
  );
  const models = [
    { id: 'test/good', upstreams: [upstream.url] },
    { id: 'test/limited', upstreams: [limited.url] },
    { id: 'test/dead', upstreams: ['http://127.0.0.1:1/v1'] },
  ];
  const slots = ['slot', 'broken'];
  const naru = await startTestGateway({
    models,
    config: {
      auth: { public_url: await startCertificateServer(t, 3650) },
      slots: [
        {
          name: 'slot',
          external: { base_url: upstream.url.replace(/\/v1$/, ''), health_path: '/v1/models' },
        },
        configuredEngine('broken', { crashAtStart: 1 }),
      ],
      models: [
        ...models.map(({ id }, n) => ({ id, candidates: [{ provider: `up${n + 1}`, model: 'echo' }] })),
        ...slots.map((slot) => ({ id: `test/${slot}`, candidates: [{ slot }] })),
      ].map((model) => ({ ...model, context_length: 1000, price: testPrice })),
    } as unknown as Record<string, object>,
  });
  t.after(async () => {
    await naru.close();
    await upstream.close();
    await limited.close();
  });
  const account = await naru.account({ credit: '1000000' });
  const { identity, actor } = naru.operator;
  await identity.recordAct(actor, { act: 'backup', after: { rows: 1 } });
  await naru.operator.verifyLedger();
  await until('the upkeep is read', async () => (await lastVerification(naru)) > 0, 30_000);
  const certificate = 'naru_certificate_expiry_timestamp_seconds';
  await until('the certificate is read', async () => (await naru.metric(certificate)) > 0, 30_000);
  return {
    naru,
    upstream,
    account,
    async send(model, { stream = false, title } = {}) {
      const body = { model, stream, messages: [{ role: 'user', content: '안녕' }] };
      const headers = title === undefined ? {} : { 'x-title': title };
      return (await naru.send('POST', '/chat/completions', { key: account.key, body, headers })).status;
    },
  };
}

function lastVerification(naru: TestGateway): Promise<number> {
  return naru.metric('naru_last_verification_timestamp_seconds');
}
