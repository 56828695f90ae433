/** `naru doctor --online` against real servers, which only a proxy of the environment can reach. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { examineOnline } from '../../src/admin/doctor/online.ts';
import { startS3Server } from '../backup/s3-server.ts';
import { configOf } from '../config/load-text.ts';
import { type Certificate, makeCertificate } from '../harness/certificate-server.ts';
import { program } from '../harness/program.ts';
import { startProxy, startTlsInFront } from '../harness/proxy.ts';
import { paymentConfig, TossEmulator } from '../harness/toss.ts';
import { reply, startUpstream } from '../harness/upstream.ts';
import { collectOutput, createInstallation, endOf } from './naru.ts';

const bedrock = 'bedrock.us-east-1.test';
const names = ['openai.test', 'anthropic.test', 'google.test', bedrock, 's3.test', 'id.test', 'otlp.test'];

/** An OpenID issuer and a collector; returns its port. */
async function startOthers(t: TestContext, certificate: Certificate): Promise<number> {
  const server = createServer(certificate, async (request, response) => {
    const isIssuer = request.url === '/.well-known/openid-configuration';
    const wantsKey = !isIssuer && request.headers['x-key'] !== 'collector-key';
    for await (const _piece of request);
    const found = { issuer: 'https://id.test', jwks_uri: 'https://id.test/jwks' };
    response.writeHead(wantsKey ? 401 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isIssuer ? found : {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

function treeOf(more: object = {}): Record<string, unknown> {
  const provider = (slug: string, base_url: string, rest: object): object => ({
    ...{ slug, dialect: slug, base_url, api_key: 'the-key' },
    ...rest,
  });
  const aws = { region: 'us-east-1', access_key_id: 'AKIA', secret_access_key: 'aws-secret', api_key: null };
  return {
    providers: [
      provider('openai', 'https://openai.test/v1', {}),
      provider('anthropic', 'https://anthropic.test/v1', {}),
      provider('google', 'https://google.test/v1beta', { headers: { 'x-more': 'more' } }),
      provider('bedrock', 'https://bedrock-runtime.us-east-1.test', aws),
    ],
    backup: {
      s3: {
        ...{ endpoint: 'https://s3.test', bucket: 'backups' },
        ...{ access_key_id: 'S3RVER', secret_access_key: 'S3RVER' },
      },
    },
    auth: {
      public_url: 'http://127.0.0.1:9999',
      oidc: { issuer: 'https://id.test', client_id: 'c', client_secret: 'oidc-secret' },
    },
    tracing: { otlp_url: 'https://otlp.test/v1/traces', headers: { 'x-key': 'collector-key' } },
    ...more,
  };
}

// spec:operator/1.27
test('each place outside is called through the proxy of the environment, and none is billed', async (t) => {
  const upstream = await startUpstream();
  const s3 = await startS3Server();
  const installation = createInstallation();
  t.after(() => Promise.all([upstream.close(), s3.stop(), installation.remove()]));
  const certificate = makeCertificate(t, 30, ...names);
  const others = await startOthers(t, certificate);
  const providers = await startTlsInFront(t, upstream.port, certificate);
  const place = await startTlsInFront(t, s3.port, certificate);
  const portOf = (name: string): number =>
    name === 's3.test' ? place : ['id.test', 'otlp.test'].includes(name) ? others : providers;
  const proxy = await startProxy(t, Object.fromEntries(names.map((name) => [name, portOf(name)])));
  const examine = async (tree: object): Promise<{ code: number | null; rows: Record<string, string>[] }> => {
    const file = installation.configure(tree);
    const args = ['doctor', '--online', '--json', '--config', file, '--data-dir', installation.dataDir];
    const env = { ...process.env, HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: certificate.file };
    const child = spawn(process.execPath, [program(), ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const { out, err } = collectOutput(child);
    const code = await endOf(child);
    assert.doesNotMatch(out() + err(), /the-key|aws-secret|oidc-secret|collector-key|p%40ss/);
    const rows = out()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    return {
      code,
      rows: rows.filter(({ check }) => /^(provider|backup place|OpenID|collector)/.test(check)),
    };
  };
  upstream.respond(() => reply.json({ data: [] }));
  const good = await examine(treeOf());
  assert.deepEqual(
    good.rows.map(({ check, state }) => `${check} ${state}`),
    [
      ...['openai', 'anthropic', 'google', 'bedrock'].map((slug) => `provider ${slug} ok`),
      ...['backup place ok', 'OpenID issuer ok', 'collector ok'],
    ],
    JSON.stringify(good.rows),
  );
  assert.deepEqual(proxy.seen.toSorted(), names.map((name) => `CONNECT ${name}:443`).toSorted());
  const asked = upstream.requests.map(({ method, path }) => `${method} ${path}`).toSorted();
  assert.deepEqual(asked, [
    'GET /foundation-models',
    'GET /v1/models',
    'GET /v1/models?limit=1',
    'GET /v1beta/models?pageSize=1',
  ]);
  const heads = JSON.stringify(upstream.requests.map(({ headers }) => headers));
  for (const credential of [/Bearer the-key/, /x-api-key\W+the-key/, /x-goog-api-key\W+the-key/, /AWS4-HMAC/])
    assert.match(heads, credential);

  upstream.respond(({ path }) =>
    path.startsWith('/v1beta')
      ? reply.status(404, { error: { message: 'not here' } })
      : reply.status(401, {
          error: { message: `bad key ${path === '/foundation-models' ? 'AKIA' : 'the-key'}` },
        }),
  );
  const s3Wrong = {
    s3: { endpoint: 'https://s3.test', bucket: 'nothing', access_key_id: 'a', secret_access_key: 'b' },
  };
  const bad = await examine(
    treeOf({ tracing: { otlp_url: 'https://otlp.test/v1/traces' }, backup: s3Wrong, auth: {} }),
  );
  assert.equal(bad.code, 1);
  const details = Object.fromEntries(
    bad.rows.map(({ check, state, detail }) => [check, `${state} ${detail}`]),
  );
  const rejected = /^FAULT https.*: 401, it rejects the credential \(bad key \*\*\*\)$/;
  assert.match(details['provider openai'] ?? '', rejected);
  assert.match(details['provider google'] ?? '', /^FAULT .*: 404, .*\(not here\)$/);
  assert.match(details['backup place'] ?? '', /^FAULT .*rejected GET: 40[34]/);
  assert.match(details['collector'] ?? '', /^FAULT .*: 401, /);
});

test('what cannot be reached is named with its kind', async (t) => {
  const silent = await startUpstream();
  t.after(() => silent.close());
  silent.always(reply.hang());
  const tls = await startTlsInFront(t, silent.port, makeCertificate(t, 30));
  const urls: readonly (readonly [string, RegExp])[] = [
    ['http://127.0.0.1:1/v1', /: refused: /],
    ['http://nothing.invalid/v1', /: DNS: /],
    [`https://localhost:${tls}/v1`, /: TLS: self-signed certificate/],
    [silent.url, /: timeout: no response within 1.5 s$/],
  ];
  const providers = urls.map(([base_url], at) => ({ slug: `p${at}`, dialect: 'openai', base_url }));
  const backup = {
    s3: { endpoint: 'http://127.0.0.1:1', bucket: 'abc', access_key_id: 'a', secret_access_key: 'b' },
  };
  const auth = {
    public_url: 'http://127.0.0.1:9',
    oidc: { issuer: silent.url.replace('/v1', '/none'), client_id: 'a', client_secret: 'b' },
  };
  const tracing = { otlp_url: 'http://127.0.0.1:1/v1/traces' };
  const findings = await examineOnline(configOf(JSON.stringify({ providers, backup, auth, tracing })), 1_500);
  const expected = [...urls.map(([, kind]) => kind), /: refused: /, /: timeout: /, /: refused: /];
  findings.forEach(({ ok, message }, at) => {
    assert.equal(ok, false, message);
    assert.match(message, expected[at] ?? /never/);
  });
  assert.equal(findings.length, expected.length);
});

// spec:operator/1.27
test('what responds but is not the API, such as a web site, is named too', async (t) => {
  const site = await startUpstream();
  const toss = await TossEmulator.start();
  t.after(() => Promise.all([site.close(), toss.close()]));
  site.always(reply.status(200, '<html>Welcome</html>'));
  const { auth, payments } = paymentConfig(toss.url);
  const examine = (secret_key: string) =>
    examineOnline(
      configOf(
        JSON.stringify({
          providers: [{ slug: 'p', dialect: 'openai', base_url: site.url }],
          auth: { ...auth, oidc: { issuer: site.url, client_id: 'a', client_secret: 'b' } },
          payments: { ...payments, secret_key },
        }),
      ),
    );
  const [provider, issuer, wrongKey] = await examine('test_sk_wrong');
  assert.match(provider?.message ?? '', /: 200 \(the response is not JSON\)$/);
  assert.match(issuer?.message ?? '', /: 200 \(.*content.type/i);
  assert.match(wrongKey?.message ?? '', /UNAUTHORIZED_KEY$/);
  assert.ok([provider, issuer, wrongKey].every((finding) => finding?.ok === false));
  site.always(reply.status(302, null, { location: 'http://127.0.0.1:1/' }));
  const [moved, , payment] = await examine(payments.secret_key);
  assert.match(moved?.message ?? '', /: 302, it redirects/);
  assert.deepEqual([payment?.name, payment?.ok], ['payments', true]);
  assert.ok(toss.requests.every((request) => request.startsWith('GET ')));
});
