/** Own certificates and proxies of providers, against real ones. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { callUpstream } from '../../src/upstreams/call.ts';
import { openProvider } from '../../src/upstreams/providers.ts';
import { configOf } from '../config/load-text.ts';
import { makeCertificate } from '../harness/certificate-server.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { startProxy, startTlsInFront, type TestProxy } from '../harness/proxy.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

interface World {
  readonly upstream: Upstream;
  readonly ca: string;
  readonly proxy: TestProxy;
  readonly secureProxy: TestProxy;
  /** A gateway whose provider has these members. */
  readonly serve: (provider: object) => Promise<TestGateway>;
}

const request = { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] };

/** An upstream at https://provider.test, which only the proxies can reach. */
async function startWorld(t: TestContext): Promise<World> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const certificate = makeCertificate(t, 30, 'provider.test');
  const hosts = {
    'provider.test': await startTlsInFront(t, upstream.port, certificate),
    'plain.test': upstream.port,
  };
  return {
    upstream,
    ca: certificate.cert,
    proxy: await startProxy(t, hosts),
    secureProxy: await startProxy(t, hosts, certificate),
    async serve(provider) {
      const whole = { dialect: 'openai', base_url: 'https://provider.test/v1', api_key: 'k', ...provider };
      const naru = await startTestGateway({
        models: [{ id: 'test/echo', upstreams: ['x'], provider: whole }],
        config: { limits: { connect_timeout_ms: 2_000 } },
      });
      t.after(() => naru.close());
      return naru;
    },
  };
}

async function complete(naru: TestGateway, more: object = {}): Promise<string> {
  const { key } = await naru.account();
  const { status, text } = await naru.send('POST', '/chat/completions', {
    key,
    body: { ...request, ...more },
  });
  return `${status} ${/Hello/.test(text) ? 'Hello' : text}`;
}

// spec:operator/2.9
test('a provider is called through its proxy, over connections that are reused', async (t) => {
  const { ca, proxy, secureProxy, upstream, serve } = await startWorld(t);
  for (const { seen, url } of [proxy, secureProxy]) {
    const naru = await serve({ ca, proxy: url });
    for (const stream of [false, true, false]) assert.equal(await complete(naru, { stream }), '200 Hello');
    assert.deepEqual(seen, ['CONNECT provider.test:443']);
    await naru.stop();
  }
  const plain = await serve({ base_url: 'http://plain.test/v1', proxy: proxy.url });
  assert.equal(await complete(plain), '200 Hello');
  assert.equal(proxy.seen.at(-1), 'POST http://plain.test/v1/chat/completions');
  assert.deepEqual(upstream.faults, []);
  assert.doesNotMatch(JSON.stringify(upstream.requests), /proxy-authorization/i);
});

test('a connection that went stale behind a proxy loses no request', async (t) => {
  const { ca, proxy, upstream, serve } = await startWorld(t);
  const naru = await serve({ ca, proxy: proxy.url });
  assert.equal(await complete(naru), '200 Hello');
  upstream.next(reply.raw(''));
  assert.equal(await complete(naru), '200 Hello');
  assert.equal(proxy.seen.length, 2);
});

test('what fails at a proxy or its certificate is logged without the password', async (t) => {
  const { ca, proxy, upstream, serve } = await startWorld(t);
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ ca, proxy: proxy.wrongUrl }, /407/],
    [{ proxy: proxy.url }, /self-signed certificate/],
    [{ ca, proxy: proxy.url.replace(/:\d+$/, ':1') }, /ECONNREFUSED/],
    [{ base_url: 'http://plain.test/v1', proxy: proxy.wrongUrl }, /407/],
  ];
  for (const [provider, reason] of cases) {
    const naru = await serve(provider);
    assert.match(await complete(naru), /^502 /);
    await naru.settled();
    const lines = JSON.stringify(naru.logged);
    assert.match(lines, reason);
    assert.doesNotMatch(lines, /wrong-password|p%40ss|p@ss/);
    await naru.stop();
  }
  proxy.conduct = 'silence';
  const naru = await serve({ ca, proxy: proxy.url });
  assert.match(await complete(naru), /^502 /);
  assert.equal(upstream.requests.length, 0);
});

test('the environment names the proxies of all providers, and the hosts that they are not for', async (t) => {
  const { proxy, upstream } = await startWorld(t);
  const url = upstream.url.replace('127.0.0.1', '127.0.0.2');
  const behind = await startUpstream({ host: '127.0.0.2', port: upstream.port });
  t.after(() => behind.close());
  const isProxied = async (baseUrl: string, env: Record<string, string>): Promise<boolean> => {
    const text = `providers: [{ slug: p, dialect: openai, base_url: '${baseUrl}' }]`;
    const [row] = configOf(text, { env }).providers;
    assert.ok(row !== undefined);
    const provider = openProvider(row);
    const before = proxy.seen.length;
    const written = { path: '/chat/completions', headers: {}, body: JSON.stringify(request) };
    const cancellation = { cancelReason: null, onCancel: null };
    const { status, body } = await callUpstream(provider.request(written), cancellation);
    while ((await body.next()) !== null);
    assert.equal(status, 200);
    await provider.close();
    return proxy.seen.length > before;
  };
  const bare = proxy.url.replace('http://', '');
  assert.equal(await isProxied(url, { HTTP_PROXY: proxy.url }), true);
  assert.equal(await isProxied(url, { http_proxy: bare, HTTP_PROXY: 'http://127.0.0.1:1' }), true);
  assert.equal(
    await isProxied('http://plain.test/v1', { HTTP_PROXY: proxy.url, NO_PROXY: 'other.test' }),
    true,
  );
  assert.equal(await isProxied(url, { HTTPS_PROXY: 'http://127.0.0.1:1' }), false);
  const direct = ['127.0.0.2', ` a.test, 127.0.0.2:${upstream.port}`, '*', '127.0.0.0/8', '127.0.0.3/30'];
  for (const NO_PROXY of direct)
    assert.equal(await isProxied(url, { HTTP_PROXY: proxy.url, NO_PROXY }), false);
  for (const NO_PROXY of ['127.0.0.4/30', '127.0.0.2/33', '127.0.0.2/', '::1/128', '0.0.0.0/'])
    assert.equal(await isProxied(url, { HTTP_PROXY: proxy.url, NO_PROXY }), true, NO_PROXY);
  assert.equal(await isProxied(upstream.url, { HTTP_PROXY: proxy.url }), false);
  const isDirect = (host: string, NO_PROXY: string): boolean => {
    const text = `providers: [{ slug: p, dialect: openai, base_url: 'http://${host}/v1' }]`;
    return configOf(text, { env: { HTTP_PROXY: proxy.url, NO_PROXY } }).providers[0]?.proxy === null;
  };
  for (const range of ['fd00::/8', '[FD00::]/8', 'fd12:3456::/127', 'a.test,fd12:3456::1/128', '::/0'])
    assert.ok(isDirect('[fd12:3456::1]', range), range);
  for (const range of ['fe80::/10', 'fd12:3456::2/128', 'fd00::/129', 'fd00::/', '0.0.0.0/0', 'fd00::/8/8'])
    assert.ok(!isDirect('[fd12:3456::1]', range), range);
});
