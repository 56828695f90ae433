import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { eventsOf } from '../harness/stream.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;
const request = { model: 'test/echo', messages: [{ role: 'user', content: '안녕' }] };

before(async () => {
  upstream = await startUpstream();
  naru = await startTestGateway({
    models: [
      { id: 'test/echo', upstreams: [upstream.url] },
      { id: '나루/한글-7b', upstreams: [upstream.url] },
    ],
  });
  account = await naru.account();
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

// spec:api/14.1-14.3
test('a JSON response has the model, the provider, the usage and its cost in won', async () => {
  upstream.next(
    reply.chat('반가워요', { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }),
  );
  const response = await naru.send('POST', '/chat/completions', { key: account.key, body: request });
  assert.equal(response.status, 200);
  assert.equal(response.json.choices[0].message.content, '반가워요');
  assert.equal(response.json.usage.cost, 20);
  assert.equal(response.headers.get('x-service-provider'), 'up1');
});

test('a model whose id is in Hangul responds; the headers have its id percent-encoded', async () => {
  for (const stream of [false, true]) {
    upstream.next(reply.chat('네', { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }));
    const body = { ...request, model: '나루/한글-7b', stream };
    const response = await naru.send('POST', '/chat/completions', { key: account.key, body });
    assert.equal(response.status, 200, response.text);
    assert.equal(
      response.headers.get('x-service-model'),
      `${encodeURIComponent('나루')}/${encodeURIComponent('한글')}-7b`,
    );
    const whole = stream ? eventsOf(response.text)[0]?.json : response.json;
    assert.equal(whole.model, '나루/한글-7b');
  }
});
