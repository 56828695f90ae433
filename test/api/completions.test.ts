import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveEcho } from '../harness/echo.ts';
import type { TestAccount, TestGateway } from '../harness/gateway.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
import { assertChatResponse, assertError, assertTextResponse } from '../harness/response-rules.ts';
import { eventsOf, textOf } from '../harness/stream.ts';
import { piece, reply, type Upstream, usage } from '../harness/upstream.ts';

let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;

serveEcho('1000000', (echo) => {
  ({ upstream, naru, account } = echo);
});

const complete = (body: object) =>
  naru.send('POST', '/completions', {
    key: account.key,
    body: { model: 'test/echo', prompt: '옛날 옛적에', ...body },
  });

// spec:conformance/15
test('a text completion responds as JSON and as a stream, and is billed', async () => {
  upstream.next(
    reply.chat(['나루가 ', '있었다'], { usage: usage(4, 3) }),
    reply.chat(['나루가 ', '있었다'], { usage: usage(4, 3) }),
  );
  const whole = await complete({});
  assert.equal(whole.status, 200);
  assertTextResponse(whole.json);
  assert.equal(whole.json.choices[0].text, '나루가 있었다');
  assert.equal(whole.json.usage.cost, 10);
  const streamed = await complete({ stream: true });
  const events = eventsOf(streamed.text);
  assert.equal(events.at(-1)?.data, '[DONE]');
  for (const event of events.slice(0, -1)) assertTextResponse(event.json);
  assert.equal(textOf(events), '나루가 있었다');
  assert.equal(events.at(-2)?.json.usage.cost, 10);
  for (const { headers } of [whole, streamed])
    for (const name of [
      'x-service-generation-id',
      'x-service-model',
      'x-service-provider',
      'x-service-request-id',
    ])
      assert.ok(headers.get(name), name);
  assert.deepEqual((await ledgerOf(naru, account)).debits, ['10.000000', '10.000000']);
});

test('prompts of every kind reach the upstream unchanged, with the parameters of this endpoint', async () => {
  for (const prompt of ['', 'x', ['a', 'b'], [1, 2, 3], [[1, 2], [3]]]) {
    assert.equal((await complete({ prompt })).status, 200);
    assert.deepEqual(upstream.requests.at(-1)?.body, { model: 'upstream-echo', prompt });
    assert.equal(upstream.requests.at(-1)?.path, '/v1/completions');
  }
  const known = { suffix: '끝', echo: true, best_of: 2, logprobs: 5, max_tokens: 3, stop: '.', seed: 1 };
  await complete({ ...known, tools: [], messages: [{ role: 'user', content: 'x' }] });
  assert.deepEqual(upstream.requests.at(-1)?.body, {
    model: 'upstream-echo',
    prompt: '옛날 옛적에',
    ...known,
  });
});

// spec:conformance/204,205,206
test('an upstream that breaks off ends the stream with an error chunk, free of charge', async () => {
  upstream.next(reply.stream(['x', piece.error(500, 'boom')], { finish: null }));
  const events = eventsOf((await complete({ stream: true })).text);
  const chunk = events.at(-2)?.json;
  assert.equal(chunk.error.metadata.error_type, 'provider_error');
  assert.equal(chunk.choices[0].finish_reason, 'error');
  assert.equal(events.at(-1)?.data, '[DONE]');
});

// spec:conformance/222
test('a failed upstream returns 502', async () => {
  upstream.next(reply.status(400));
  assert.equal(assertError(await complete({}), 502, 'provider_error')['provider_code'], 400);
});

// spec:api/14.6
test('media in a response is dropped, whole and streamed, and named in the record', async () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const parts = [{ type: 'text', text: 'kept' }, image, { type: 'x'.repeat(5_000) }];
  const media = {
    images: [image],
    audio: { id: 'a', data: 'AAAA' },
    content: parts,
    annotations: [{ a: 1 }],
  };
  for (const [scripted, stream] of [
    [reply.json({ choices: [{ message: media, finish_reason: 'stop' }] }), false],
    [reply.json({ choices: [{ message: media, finish_reason: 'stop' }] }), true],
    [reply.stream([{ delta: media }]), true],
    [reply.stream([{ delta: media }]), false],
  ] as const) {
    upstream.next(scripted);
    const response = await naru.send('POST', '/chat/completions', {
      key: account.key,
      body: { model: 'test/echo', messages: [{ role: 'user', content: 'x' }], stream },
    });
    assert.equal(response.status, 200);
    assert.match(response.text, /kept.*annotations/);
    assert.doesNotMatch(response.text, /AAAA|image_url|xxx/);
    const id = response.headers.get('x-service-generation-id');
    const record = (await naru.send('GET', `/generation?id=${id}`, { key: account.key })).json.data;
    assert.deepEqual(record.dropped_parts, ['images', 'audio', 'image_url', 'x'.repeat(500)]);
  }
});

// spec:compat/3 spec:api/14.4
test('a chat response full of nulls and unknown finish reasons parses in strict clients', async () => {
  const nulls = {
    role: null,
    content: null,
    refusal: null,
    reasoning: null,
    reasoning_details: null,
    tool_calls: null,
    images: null,
    audio: null,
    annotations: null,
    function_call: null,
  };
  const chat = () =>
    naru.send('POST', '/chat/completions', {
      key: account.key,
      body: { model: 'test/echo', messages: [{ role: 'user', content: 'x' }] },
    });
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: { city: '서울' } } };
  for (const choice of [
    { index: null, message: nulls, finish_reason: 'eos', logprobs: null },
    { message: { ...nulls, content: 'x' }, finish_reason: 'function_call' },
    {
      message: { content: 'x', reasoning_content: '생각' },
      finish_reason: 'max_tokens',
      logprobs: { content: [] },
    },
    {
      message: {
        content: null,
        tool_calls: [
          call,
          { id: 'd', function: { name: 'g' } },
          { function: { name: 'h', arguments: '{}' } },
        ],
      },
      finish_reason: 'tool_use',
    },
    { message: { content: 'x', tool_calls: [], images: [], annotations: [] }, finish_reason: 'SAFETY' },
    { finish_reason: 'stop' },
  ]) {
    upstream.next(
      reply.json({
        id: null,
        choices: [choice],
        usage: null,
        system_fingerprint: null,
        service_tier: null,
        error: null,
      }),
    );
    const response = await chat();
    assert.equal(response.status, 200, response.text);
    assertChatResponse(response.json);
  }
  upstream.next(reply.whole('x', { toolCalls: [call] }));
  assert.equal((await chat()).json.choices[0].message.tool_calls[0].function.arguments, '{"city":"서울"}');
});
