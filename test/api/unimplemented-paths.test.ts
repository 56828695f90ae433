import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { RawClient, rawly } from '../harness/raw-client.ts';
import { assertError } from '../harness/response-rules.ts';

let naru: TestGateway;
before(async () => {
  naru = await startTestGateway();
});
after(() => naru?.close());

/** The families of spec:api/1.14, by number of spec:conformance. */
const families: Readonly<Record<number, readonly string[]>> = {
  157: ['/embeddings'],
  158: ['/images', '/images/generations'],
  159: ['/videos', '/videos/x'],
  160: ['/audio/speech', '/audio/transcriptions'],
  161: ['/responses'],
  162: ['/messages'],
  163: ['/rerank'],
  164: ['/files', '/files/x/content'],
  165: ['/guardrails', '/guardrails/x'],
  166: ['/byok', '/byok/x'],
  167: ['/presets', '/presets/x'],
  168: ['/workspaces', '/workspaces/x'],
  169: ['/scim/v2/Users'],
  170: ['/oauth/token', '/auth/keys'],
  171: ['/observability/x'],
  172: ['/containers/x'],
  173: ['/analytics/x', '/activity'],
  174: ['/classifications/x'],
  175: ['/batches', '/totally/unknown', `/keys/${'0'.repeat(64)}/x`],
};

// spec:conformance/157,158,159,160,161,162,163,164,165,166,167,168,169,170,171,172,173,174,175,177
for (const [row, paths] of Object.entries(families)) {
  test(`row ${row}: ${paths.join(', ')} returns a 404 that names the path, in English`, async () => {
    for (const path of paths) {
      for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
        const response = await naru.send(method, path, method === 'POST' ? { body: {} } : {});
        assert.equal(assertError(response, 404, 'not_supported')['path'], `/api/v1${path}`);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is what the row requires.
        assert.match(response.json.error.message, /^[\x00-\x7f]+$/);
      }
    }
  });
}

test('a request for one model, as clients of OpenAI send it, is told where the models are', async () => {
  for (const path of ['/models/naru/demo', '/models/gpt-4o']) {
    const response = await naru.send('GET', path);
    assert.equal(assertError(response, 404, 'not_supported')['path'], `/api/v1${path}`);
    assert.match(response.json.error.message, /GET \/api\/v1\/models lists the models\.$/);
  }
});

// spec:conformance/176 spec:errors/9.2
test('the path is repeated as received: not decoded, not normalised, without its query', async () => {
  for (const path of [
    '/Embeddings',
    '/a%2Fb',
    '/%ED%95%9C',
    '/x;x=1',
    '/..%2fmodels',
    '/../x',
    '/./models',
    `/${'long/'.repeat(1_500)}`,
    '//models',
    '/models//',
    '/%00',
    '/%zz',
    '/a+b%20c',
    '/"quotes"\\',
    '/__proto__',
    '/constructor',
  ]) {
    const [response] = await rawly(
      naru.gateway.server.port,
      `GET /api/v1${path}?q=1&r=%2F HTTP/1.1\r\nhost: x\r\n\r\n`,
    );
    assert.equal(response?.status, 404, path);
    assert.equal(JSON.parse(response?.body ?? '').error.metadata.path, `/api/v1${path}`);
  }
});

// spec:conformance/178 spec:errors/9.3
test('no credential is required, a body of 1 MB is accepted, and the connection stays usable', async () => {
  const client = await RawClient.open(naru.gateway.server.port);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET', 'PROPFIND']) {
    const body = 'x'.repeat(1024 * 1024);
    client.write(
      `${method} /api/v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    assert.equal((await client.response())?.status, 404, method);
  }
  client.write('GET /api/v1/models HTTP/1.1\r\nhost: x\r\n\r\n');
  assert.equal((await client.response())?.status, 200);
  client.close();
});

// spec:conformance/182
test('only an unimplemented path is named in the body of a 404', async () => {
  const { key } = await naru.account();
  const unknown = await naru.send('GET', '/generation?id=gen-1795219200-000000000000000', { key });
  assert.ok(!('path' in assertError(unknown, 404, 'not_supported')));
  assert.ok('path' in assertError(await naru.send('GET', '/nowhere'), 404, 'not_supported'));
});
