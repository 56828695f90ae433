/** The configuration alone decides which hosts Naru contacts. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { rawly } from '../harness/raw-client.ts';
import { reply, startUpstream } from '../harness/upstream.ts';

let trapped = 0;
const trap = createServer((socket) => {
  trapped += 1;
  socket.destroy();
});
let url = '';

before(async () => {
  await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(trap.address() as { port: number }).port}/a.png`;
});
after(() => trap.close());

/** Every position of a request where a client may try to have an address fetched. */
function requestsWithUrls(): readonly object[] {
  const text = { type: 'text', text: 'what is it?' };
  const message = (...content: readonly object[]): object => ({
    messages: [{ role: 'user', content: [text, ...content] }],
  });
  return [
    message({ type: 'image_url', image_url: { url } }),
    message({ type: 'image_url', image_url: url }),
    message({ type: 'input_image', image_url: url }),
    message({ type: 'video_url', video_url: { url } }),
    message({ type: 'input_audio', input_audio: { data: url, format: 'wav' } }),
    message({ type: 'file', file: { file_data: url, filename: url } }),
    message({ type: 'file', file: { url } }),
    message({ type: 'image_url', image_url: { url: `data:image/png;base64,${url}` } }),
    { messages: [{ role: 'user', content: url }], base_url: url, api_base: url, url, proxy: url },
    {
      messages: [{ role: 'user', content: url }],
      provider: { order: [url], base_url: url },
      plugins: [{ id: url }],
    },
    {
      messages: [{ role: 'user', content: url }],
      webhook: url,
      metadata: { url },
      tools: [{ type: 'mcp', server_url: url }],
    },
    {
      messages: [
        { role: 'assistant', content: url, images: [{ type: 'image_url', image_url: { url } }] },
        { role: 'user', content: url },
      ],
    },
  ];
}

/** Headers that make some servers go elsewhere. */
const headers = {
  'x-forwarded-host': 'evil.example',
  'x-original-url': '/metrics',
  'x-rewrite-url': '/metrics',
  get referer() {
    return url;
  },
  get 'http-referer'() {
    return url;
  },
};

const providers: Readonly<Record<string, { readonly dialect: string; readonly more?: object }>> = {
  openai: { dialect: 'openai' },
  anthropic: { dialect: 'anthropic' },
  google: { dialect: 'google' },
  bedrock: { dialect: 'bedrock', more: { region: 'us-east-1' } },
};

for (const [name, { dialect, more }] of Object.entries(providers)) {
  // security:21,26
  test(`with ${name} upstream, no address from a client is fetched, and only the configured host is contacted`, async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const origin = new URL(upstream.url).origin;
    const base_url = dialect === 'openai' ? upstream.url : origin;
    const naru: TestGateway = await startTestGateway({
      models: [
        {
          id: 'test/eye',
          upstreams: [base_url],
          model: {
            max_completion_tokens: 32_768,
            input_modalities: ['text', 'image', 'file', 'audio', 'video'],
          },
        },
      ],
      config: {
        providers: [{ slug: 'up1', name: 'Upstream', dialect, base_url, api_key: 'k-0123456789', ...more }],
      },
    });
    t.after(() => naru.close());
    const account = await naru.account({ credit: '100000000' });
    upstream.always(reply.status(500));
    for (const request of requestsWithUrls())
      for (const stream of [false, true]) {
        const response = await naru.send('POST', '/chat/completions', {
          key: account.key,
          headers,
          body: { model: 'test/eye', stream, ...request },
        });
        assert.ok([400, 404, 502].includes(response.status), response.text);
      }
    for (const target of [url, `//127.0.0.1:${new URL(url).port}/a`, `http://evil.example/api/v1/models`])
      await raw(naru.gateway.server.port, target);
    assert.ok(upstream.requests.length >= 4, `the upstream got ${upstream.requests.length} requests`);
    assert.equal(trapped, 0, 'something connected to where the client pointed');
    // A redirect is an error response like any other: its target gets neither the request nor the
    // key.
    upstream.always(reply.redirect(url, 307));
    const response = await naru.send('POST', '/chat/completions', {
      key: account.key,
      body: { model: 'test/eye', messages: [{ role: 'user', content: 'hi' }] },
    });
    assert.equal(response.status, 502);
    assert.equal(trapped, 0, 'a redirect was followed');
  });
}

test('the guard can fail: the trap records every connection', async () => {
  await fetch(url).catch(() => {});
  assert.equal(trapped, 1);
});

async function raw(port: number, target: string): Promise<void> {
  const [response] = await rawly(
    port,
    `GET ${target} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n`,
  );
  assert.ok([200, 404, 400].includes(response?.status ?? 0), target);
}
