/**
 * A request that every candidate rejected: no retry will help, and the upstream's own message has
 * the reason.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import {
  providerKey,
  startTestGateway,
  type TestAccount,
  type TestGateway,
  type TestResponse,
} from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';
import { piece, reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import type { Reply } from '../harness/upstream-reply.ts';

const messages = [{ role: 'user' as const, content: 'hi' }];
const sentence = 'The reasoning_content in the thinking mode must be passed back to the API.';
const rejects = (status: number, message = sentence): Reply => reply.status(status, { error: { message } });
let ups: readonly [Upstream, Upstream];
let naru: TestGateway;
let account: TestAccount;

before(async () => {
  ups = await Promise.all([startUpstream(), startUpstream()]);
  naru = await startTestGateway({
    models: [{ id: 'test/pair', upstreams: ups.map(({ url }) => url) }],
  });
  account = await naru.account({ credit: '1000000' });
});
after(async () => {
  await naru.close();
  for (const up of ups) await up.close();
});

function send(first: Reply, second: Reply, stream = false): Promise<TestResponse> {
  naru.gateway.health.keepOnly(new Set());
  ups[0].next(first);
  ups[1].next(second);
  return naru.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'test/pair', messages, stream },
  });
}

// spec:errors/3.11
test('when every candidate rejects the request with 400, 413 or 422, a retry is discouraged and the message passed on', async () => {
  for (const stream of [false, true])
    for (const [one, other] of [
      [400, 400],
      [413, 422],
      [422, 400],
    ] as const) {
      const response = await send(rejects(one, 'first'), rejects(other), stream);
      const metadata = assertError(response, 502, 'provider_error');
      assert.equal(response.headers.get('x-should-retry'), 'false');
      assert.deepEqual(metadata, {
        error_type: 'provider_error',
        provider_code: other,
        upstream_message: sentence,
      });
      assert.ok(response.json.error.message.endsWith(`Reason: "${sentence}".`), response.text);
    }
});

test('so does a completion of text', async () => {
  for (const stream of [false, true]) {
    naru.gateway.health.keepOnly(new Set());
    for (const up of ups) up.next(rejects(400));
    const body = { model: 'test/pair', prompt: 'hi', stream };
    const response = await naru.send('POST', '/completions', { key: account.key, body });
    assert.equal(assertError(response, 502, 'provider_error')['upstream_message'], sentence);
    assert.ok(response.json.error.message.endsWith(`Reason: "${sentence}".`), response.text);
    assert.equal(response.headers.get('x-should-retry'), 'false');
  }
});

test('an error inside of a successful response counts the same', async () => {
  const inBand = { error: { message: sentence, code: 400 } };
  const response = await send(reply.json(inBand), rejects(400));
  assert.equal(response.headers.get('x-should-retry'), 'false');
  const streamed = await send(
    reply.stream([piece.error(400, sentence)], { finish: null }),
    reply.stream([piece.error(400, sentence)], { finish: null }),
    true,
  );
  assert.equal(streamed.headers.get('x-should-retry'), 'false');
  assert.equal(assertError(streamed, 502, 'provider_error')['upstream_message'], sentence);
});

test('when one candidate failed in another way, a retry may help, and no message is passed on', async () => {
  for (const other of [reply.status(500), reply.status(401), reply.tooMany('1'), reply.drop(), rejects(404)])
    for (const response of [await send(rejects(400), other), await send(other, rejects(400))]) {
      const metadata = assertError(response, 502, 'provider_error');
      assert.equal(response.headers.get('x-should-retry'), null);
      assert.ok(!('upstream_message' in metadata));
    }
});

test('the message has no key, host or file, and at most 500 characters', async () => {
  const host = new URL(ups[1].url).host;
  const leaky = `Incorrect key ${providerKey} at http://${host}/v1, see /srv/models/a.py or ask 10.0.0.7:8000. ${'long '.repeat(300)}`;
  const response = await send(rejects(400), rejects(400, leaky));
  const message = assertError(response, 502, 'provider_error')['upstream_message'];
  assert.ok(typeof message === 'string' && message.length > 100 && message.length <= 500);
  for (const part of [providerKey, host, '/srv/models', '10.0.0.7'])
    assert.ok(!response.text.includes(part), response.text);
  const page = await send(reply.status(400, '<html>1</html>'), reply.status(400, '<html>2</html>'));
  assert.equal(assertError(page, 502, 'provider_error')['upstream_message'], null);
});

test("OpenAI's client does not retry it", async () => {
  naru.gateway.health.keepOnly(new Set());
  const client = new OpenAI({ baseURL: naru.url, apiKey: account.key, maxRetries: 3 });
  ups[0].always(rejects(400));
  ups[1].always(rejects(400));
  const before = ups[0].requests.length;
  await assert.rejects(client.chat.completions.create({ model: 'test/pair', messages }), /502/);
  assert.equal(ups[0].requests.length, before + 1);
});
