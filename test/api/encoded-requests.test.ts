/** Requests that arrive encoded: bodies by their content encoding, slashes in a path. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;

before(async () => {
  upstream = await startUpstream();
  upstream.respond(() => reply.chat('안녕'));
  naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  account = await naru.account({ credit: '1000' });
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

const body = Buffer.from(
  JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: '안녕'.repeat(1_000) }] }),
);

async function post(bytes: Buffer, encoding: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${naru.url}/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${account.key}`,
      'content-type': 'application/json',
      'content-encoding': encoding,
    },
    body: new Uint8Array(bytes),
  });
  return { status: response.status, text: await response.text() };
}

// spec:api/12.10
test('a body with a content encoding is decoded', async () => {
  for (const [encoding, bytes] of [
    ['gzip', gzipSync(body)],
    ['deflate', deflateSync(body)],
    ['deflate', deflateRawSync(body)],
    ['br', brotliCompressSync(body)],
    ['zstd', zstdCompressSync(body)],
    ['identity', body],
    ['gzip, br', brotliCompressSync(gzipSync(body))],
  ] as const) {
    const { status, text } = await post(bytes, encoding);
    assert.equal(status, 200, `${encoding}: ${text}`);
    assert.match(JSON.stringify(upstream.requests.at(-1)?.body), /안녕안녕/);
  }
});

test('unknown, damaged and nested encodings are refused by name', async () => {
  for (const [bytes, encoding] of [
    [body, 'compress'],
    [body, 'gzip'],
    [gzipSync(body).subarray(0, 40), 'gzip'],
    [gzipSync(gzipSync(gzipSync(body))), 'gzip, gzip, gzip'],
    [gzipSync(Buffer.from('['.repeat(10_000))), 'gzip'],
  ] as const) {
    const { status, text } = await post(bytes, encoding);
    assert.equal(status, 400, text);
    assert.match(text, /invalid_request/);
  }
});

test('a body that decodes to more than the limit is 413, whatever its own size', async () => {
  const bomb = gzipSync(Buffer.alloc(40 * 1024 * 1024, 0x20));
  assert.ok(bomb.length < 100_000);
  assert.equal((await post(bomb, 'gzip')).status, 413);
});

test('an encoded slash in the id of a model is the path of the model', async () => {
  for (const id of ['test/echo', 'test%2Fecho', 'test%2fecho', '%74est/echo']) {
    const response = await fetch(`${naru.url}/models/${id}/endpoints`);
    assert.equal(response.status, 200, id);
    await response.body?.cancel();
  }
});
