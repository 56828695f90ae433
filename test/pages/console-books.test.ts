/** Prices, the exchange rate, datasets and the books, as the console shows and changes them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { OperatorError } from '../../src/errors/operator-error.ts';
import { incompleteLine } from '../../src/pages/csv-stream.ts';
import { sessionCookies } from '../../src/pages/page-reply.ts';
import { isoDay, seoulDayAt } from '../../src/time/period.ts';
import { isTableAwaited, lockTable } from '../harness/citus.ts';
import { startTestGateway, type TestAccount, type TestGateway, testConfig } from '../harness/gateway.ts';
import { tamper } from '../harness/ledger-guards.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { eventually, until } from '../harness/until.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let source: Server;
let gateway: TestGateway;
let account: TestAccount;
let viewer: PageBrowser;
let admin: PageBrowser;
/** What the configuration file has now; null: it is faulty. */
let file: Config | null;

function configOf(usdKrw: string, dollars = '0.000001'): Config {
  const model = {
    price: { prompt: dollars, completion: dollars, currency: 'USD', per: 'token', confirm: true },
  };
  return testConfig({
    models: [
      { id: 'a/dollars', upstreams: [upstream.url], model },
      { id: 'a/won', upstreams: [upstream.url] },
    ],
    config: {
      exchange: { usd_krw: usdKrw, margin_percent: '10' },
      datasets: {
        sync_key: 'key',
        base_url: `http://127.0.0.1:${(source.address() as AddressInfo).port}/api/v1`,
      },
    },
  });
}

function consoleOrigin(): string {
  return `http://127.0.0.1:${gateway.gateway.admin.port}`;
}

before(async () => {
  upstream = await startUpstream();
  // Every call of the datasets fails until it is closed.
  source = createServer((_request, response) => response.writeHead(400).end('{}'));
  await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve));
  const first = configOf('1400');
  file = first;
  const read = (): Config => {
    if (file === null)
      throw new OperatorError('the configuration has 1 fault:\nnaru.yaml:3: models: missing');
    return file;
  };
  gateway = await startTestGateway({
    sessions,
    models: [
      {
        id: 'a/dollars',
        upstreams: [upstream.url],
        model: { price: { prompt: '0.000001', completion: '0.000001', currency: 'USD', per: 'token' } },
      },
      { id: 'a/won', upstreams: [upstream.url] },
    ],
    config: {
      exchange: { usd_krw: '1400', margin_percent: '10' },
      datasets: {
        sync_key: 'key',
        base_url: `http://127.0.0.1:${(source.address() as AddressInfo).port}/api/v1`,
      },
    },
    configFile: { read, readToPublish: read },
  });
  account = await gateway.account();
  const origin = consoleOrigin();
  viewer = new PageBrowser(origin, 'console', sessions.operator('viewer'));
  admin = new PageBrowser(origin, 'console', sessions.operator('admin'));
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
  source?.close();
});

// pages:A5,A7
test('a new exchange rate is shown with its effect and the margins, and published once as it was seen', async () => {
  const before = await viewer.get('/prices');
  assert.deepEqual([before.file.changes, before.file.fault], [[], null]);
  const dollars = before.items.find((item: { model: string }) => item.model === 'a/dollars');
  assert.deepEqual(
    [dollars.rates.prompt_micro, dollars.stated.usd_krw, dollars.margin_published, dollars.margin_now],
    ['1540000000', '1400', 10, 10],
  );
  assert.equal(before.items.find((item: { model: string }) => item.model === 'a/won').margin_now, null);

  file = { ...configOf('1540'), metadata: { asOf: '2026-01-15', source: 'a list' } };
  const pending = await viewer.get('/prices');
  assert.equal(before.file.metadata, null);
  assert.deepEqual(pending.file.metadata, { as_of: '2026-01-15', source: 'a list' });
  assert.deepEqual(
    pending.file.changes.map((one: { change: string; model: string; before: unknown; after: unknown }) => [
      one.change,
      one.model,
      (one.before as { prompt_micro: string }).prompt_micro,
      (one.after as { prompt_micro: string }).prompt_micro,
    ]),
    [['price_changed', 'a/dollars', '1540000000', '1694000000']],
  );
  // At the new rate the published price earns nothing.
  assert.equal(pending.items.find((item: { model: string }) => item.model === 'a/dollars').margin_now, 0);
  const exchange = await viewer.get('/exchange');
  assert.deepEqual(
    [exchange.file.exchange.usd_krw, exchange.published[0].usd_krw, exchange.prices_in_usd],
    ['1540', '1400', 1],
  );
  assert.deepEqual(exchange.file.changes, pending.file.changes);
  assert.deepEqual(
    (await gateway.operator.as({ kind: 'cli', name: 'cli' }).readPublished()).length,
    before.items.length,
  );

  const body = { digest: pending.file.digest, reason: 'the rate rose' };
  assert.equal((await viewer.send('POST', '/prices/publish', { body })).status, 403);
  assert.equal(
    (await admin.send('POST', '/prices/publish', { body: { ...body, digest: before.file.digest } })).status,
    409,
  );
  const withoutReason = { body: { digest: pending.file.digest } };
  assert.equal((await admin.send('POST', '/prices/publish', withoutReason)).status, 400);
  const key = randomUUID();
  const published = await admin.send('POST', '/prices/publish', { body, key });
  assert.deepEqual([published.status, published.json.changes], [200, 1]);
  assert.deepEqual((await admin.send('POST', '/prices/publish', { body, key })).json, published.json);
  const now = await viewer.get('/prices');
  assert.deepEqual([now.file.changes, now.edition.id], [[], published.json.edition]);
  assert.equal((await viewer.get('/exchange')).published[0].usd_krw, '1540');
  const acts = await viewer.get('/audit?act=models.publish');
  assert.deepEqual(
    acts.items.map((act: Record<string, unknown>) => [act['who'], act['reason'], act['after']]),
    [['operator', 'the rate rose', { changes: 1 }]],
  );
  const history = await viewer.get('/prices/history?model=a/dollars');
  assert.deepEqual(
    history.items.map((one: { rates: { prompt_micro: string } }) => one.rates.prompt_micro),
    ['1694000000', '1540000000'],
  );
});

// pages:A5
test('a faulty file is shown with its faults and cannot be published', async () => {
  file = null;
  const shown = await viewer.get('/prices');
  assert.match(shown.file.fault, /naru\.yaml:3: models: missing/);
  assert.ok(shown.items.length > 0);
  const refused = await admin.send('POST', '/prices/publish', { body: { digest: 'x', reason: 'x' } });
  assert.equal(refused.status, 409);
  assert.match(refused.json.error.message.en, /naru\.yaml:3/);
  file = configOf('1540');
});

// pages:A10
test('datasets report their state; only an admin makes one due, which is in the audit log, and a failure has its reason', async () => {
  const shown = await viewer.get('/datasets');
  assert.deepEqual(
    [shown.has_key, shown.calls_max, shown.items.map((item: { dataset: string }) => item.dataset)],
    [true, 450, ['app-rankings', 'benchmarks', 'rankings-daily']],
  );
  assert.equal((await viewer.send('POST', '/datasets/sync', { body: {} })).status, 403);
  const started = await admin.send('POST', '/datasets/sync', { body: { dataset: 'benchmarks' } });
  assert.equal(started.status, 200, started.text);
  const failed = await eventually('the sync has failed', 60_000, async () => {
    const { items } = await viewer.get('/datasets');
    const benchmarks = items.find((item: { dataset: string }) => item.dataset === 'benchmarks');
    return benchmarks.failures > 0 ? benchmarks : null;
  });
  assert.match(failed.fault, /^\/benchmarks: /);
  assert.equal(failed.synced_at, null);
  assert.ok((await viewer.get('/datasets')).calls_today > 0);
  const acts = await viewer.get('/audit?act=datasets.sync');
  assert.equal(acts.items[0].subject, 'benchmarks');
});

const verified = async (): Promise<{ state: string; differences: { subject: string }[]; share: number }> => {
  const started = await admin.send('POST', '/books/verify', { body: {} });
  assert.equal(started.status, 200, started.text);
  return eventually('the verification has ended', 60_000, async () => {
    const { run } = await viewer.get('/books');
    assert.ok(run.share >= 0 && run.share <= 1);
    return run.state === 'running' ? null : run;
  });
};

// pages:A11
test('one verification of the ledger runs at a time, beside calls; differences are listed', async () => {
  await gateway.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'a/won', messages: [{ role: 'user', content: 'hello' }] },
  });
  await gateway.settled();
  assert.equal((await viewer.send('POST', '/books/verify', { body: {} })).status, 403);
  const agrees = await verified();
  assert.deepEqual([agrees.state, agrees.differences, agrees.share], ['agrees', [], 1]);
  const past = await viewer.get('/books');
  assert.deepEqual([past.last_verification.who, past.last_verification.details.differences], ['operator', 0]);

  // It waits for this lock, so that it still runs when a second one is refused and it is stopped.
  const unlock = await lockTable(gateway.database, 'account_balance', 'ACCESS EXCLUSIVE');
  assert.equal((await admin.send('POST', '/books/verify', { body: {} })).status, 200);
  await until('it waits', () => isTableAwaited(gateway.database.address), 20_000);
  assert.equal((await admin.send('POST', '/books/verify', { body: {} })).status, 409);
  const stopped = await admin.send('POST', '/books/stop', { body: {} });
  assert.equal(stopped.json.run.state, 'stopped');
  await unlock();

  await tamper(gateway.database, 'UPDATE key_usage_day SET cost = cost + 1');
  const differs = await verified();
  assert.equal(differs.state, 'differs');
  assert.match(differs.differences[0]?.subject ?? '', /^key \d+ of account/);
  await tamper(gateway.database, 'UPDATE key_usage_day SET cost = cost - 1');
});

// pages:A11
test('the export of days adds up to the balances, and reports when it is not complete', async () => {
  const today = isoDay(seoulDayAt(gateway.clock.now()));
  const days = `from=${isoDay(seoulDayAt(gateway.clock.now()) - 30)}&to=${today}`;
  const response = await viewer.send('GET', `/books/csv?${days}&language=en`);
  assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8');
  assert.ok(response.headers.get('content-disposition')?.includes(`-${today}.csv`));
  const raw = await fetch(`${consoleOrigin()}/console/api/books/csv?${days}`, {
    headers: { cookie: `${sessionCookies.console}=${sessions.operator('viewer')}` },
  });
  const bytes = Buffer.from(await raw.arrayBuffer());
  assert.equal(bytes.subarray(0, 3).toString('hex'), 'efbbbf', 'a byte order mark');
  const [head, ...lines] = response.text.trim().split('\r\n');
  assert.match(head ?? '', /Account ID,Account,Day \(KST\),Time \(KST\),Kind,Amount \(KRW\)/);
  const micro = (text = ''): bigint => BigInt(text.replace('.', ''));
  const sum = lines.reduce((total, line) => total + micro(line.split(',')[5]), 0n);
  const [balances] = await gateway.database.query<{ balance: bigint }>(
    'SELECT sum(balance)::bigint AS balance FROM account_balance',
  );
  assert.equal(sum, balances?.balance);
  assert.equal((await viewer.send('GET', `/books/csv?${days}&account=999999`)).status, 404);
  for (const wrong of [`from=${today}&to=2020-01-01`, `from=2020-01-01&to=${today}`, 'from=0001-01-01&to=x'])
    assert.equal((await viewer.send('GET', `/books/csv?${wrong}`)).json.error.type, 'invalid_request', wrong);
  await gateway.database.query('ALTER TABLE key_usage_day RENAME TO hidden');
  try {
    const broken = await viewer.send('GET', `/books/csv?${days}`);
    assert.ok(broken.text.includes(incompleteLine));
  } finally {
    await gateway.database.query('ALTER TABLE hidden RENAME TO key_usage_day');
  }
});
