/** The official `openai` client, unmodified: what most programs will call Naru with. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI, {
  APIConnectionError,
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
} from 'openai';
import { serveEcho } from '../harness/echo.ts';
import type { TestAccount, TestGateway } from '../harness/gateway.ts';
import { piece, reply, type Upstream, usage } from '../harness/upstream.ts';

const messages = [{ role: 'user' as const, content: '서울 날씨는?' }];
let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;
let client: OpenAI;

serveEcho('1000000', (echo) => {
  ({ upstream, naru, account } = echo);
  client = new OpenAI({ apiKey: account.key, baseURL: naru.url });
});

/** The same client with another key. */
const as = (apiKey: string): OpenAI => new OpenAI({ apiKey, baseURL: naru.url });
/** How many requests the gateway itself got while `work` ran. */
async function requestsOf(work: () => Promise<void>): Promise<number> {
  const count = () => naru.logged.filter((line) => line['event'] === 'request').length;
  const before = count();
  await work();
  return count() - before;
}

test('a chat completion returns a JSON response', async () => {
  upstream.next(reply.chat('맑음', { usage: usage(10, 5) }));
  const { data, response } = await client.chat.completions
    .create({ model: 'test/echo', messages })
    .withResponse();
  assert.equal(data.choices[0]?.message.content, '맑음');
  assert.equal(data.choices[0]?.finish_reason, 'stop');
  assert.equal(data.usage?.total_tokens, 15);
  assert.equal((data.usage as { cost?: number } | undefined)?.cost, 20);
  assert.equal(data.id, response.headers.get('x-service-generation-id'));
  assert.equal((data as { _request_id?: string })._request_id, response.headers.get('x-service-request-id'));
});

test('a chat completion streams, with its usage at the end', async () => {
  upstream.next(reply.chat(['맑', '음 ', '👩‍👩‍👧'], { usage: usage(10, 5) }));
  const stream = await client.chat.completions.create({
    model: 'test/echo',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  let total = 0;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    total = chunk.usage?.total_tokens ?? total;
  }
  assert.equal(text, '맑음 👩‍👩‍👧');
  assert.equal(total, 15);
});

test('the stream helper reassembles a streamed response', async () => {
  upstream.next(
    reply.stream([...piece.tool(0, 'weather', '{"city"', ':"서울"}'), ...piece.tool(1, 'time', '{}')], {
      finish: 'tool_calls',
    }),
  );
  const final = await client.chat.completions.stream({ model: 'test/echo', messages }).finalChatCompletion();
  const calls = final.choices[0]?.message.tool_calls?.map(
    (call) => call.type === 'function' && [call.id, call.function.name, call.function.arguments],
  );
  assert.deepEqual(calls, [
    ['call_0', 'weather', '{"city":"서울"}'],
    ['call_1', 'time', '{}'],
  ]);
});

test('a tool round trip works as the client encodes it', async () => {
  const tools = [
    {
      type: 'function' as const,
      function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
    },
  ];
  upstream.next(
    reply.whole(null, {
      toolCalls: [
        { id: 'call_7', type: 'function', function: { name: 'weather', arguments: '{"city":"서울"}' } },
      ],
    }),
    reply.whole('맑아요'),
  );
  const first = await client.chat.completions.create({ model: 'test/echo', messages, tools });
  const message = first.choices[0]?.message;
  assert.ok(message !== undefined);
  assert.equal(first.choices[0]?.finish_reason, 'tool_calls');
  const second = await client.chat.completions.create({
    model: 'test/echo',
    messages: [...messages, message, { role: 'tool', tool_call_id: 'call_7', content: '맑음' }],
    tools,
  });
  assert.equal(second.choices[0]?.message.content, '맑아요');
  const sent = upstream.requests.at(-1)?.body['messages'] as {
    role: string;
    tool_calls?: { id: string }[];
  }[];
  assert.deepEqual(
    sent.map(({ role }) => role),
    ['user', 'assistant', 'tool'],
  );
  assert.equal(sent[1]?.tool_calls?.[0]?.id, 'call_7');
});

test('a text completion works as JSON and as a stream', async () => {
  upstream.next(reply.chat('있었다'), reply.chat(['있', '었다']));
  const whole = await client.completions.create({ model: 'test/echo', prompt: '옛날에' });
  assert.equal(whole.choices[0]?.text, '있었다');
  let text = '';
  for await (const chunk of await client.completions.create({
    model: 'test/echo',
    prompt: '옛날에',
    stream: true,
  }))
    text += chunk.choices[0]?.text ?? '';
  assert.equal(text, '있었다');
});

test('models are listed', async () => {
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.deepEqual(ids, ['test/echo']);
});

// spec:compat/13.1
test('errors are the exceptions of their status with our body, and only retryable ones are retried', async () => {
  const poor = await naru.account({ credit: '0' });
  const capped = await account.another({ limit: '0' });
  const suspended = await account.another();
  await naru.operator.suspendKey({ hash: suspended.hash, suspended: true, reason: null });
  const request = { model: 'test/echo', messages };
  const cases: readonly [OpenAI, object, abstract new (...args: never[]) => APIError, string][] = [
    [client, { ...request, messages: [] }, BadRequestError, '400 invalid_request'],
    [client, { ...request, model: 'no/such' }, BadRequestError, '400 model_not_found'],
    [as('sk-naru-v1-wrong'), request, AuthenticationError, '401 invalid_api_key'],
    [as(poor.key), request, APIError, '402 insufficient_credits'],
    [as(capped.key), request, APIError, '402 key_limit_exceeded'],
    [as(suspended.key), request, PermissionDeniedError, '403 key_suspended'],
    [
      client,
      { ...request, messages: [{ role: 'user', content: 'x '.repeat(60_000) }] },
      NotFoundError,
      '404 no_endpoints_found',
    ],
  ];
  for (const [from, body, type, pair] of cases) {
    const requests = await requestsOf(async () => {
      await assert.rejects(
        from.chat.completions.create(body as never) as unknown as Promise<unknown>,
        (error) => {
          assert.ok(error instanceof type, `${pair}: ${error}`);
          const { error_type: kind } = (error.error as { metadata: { error_type: string } }).metadata;
          assert.equal(`${error.status} ${kind}`, pair);
          assert.match(error.requestID ?? '', /./);
          return true;
        },
      );
    });
    assert.equal(requests, 1, pair);
  }
});

test('retryable errors are retried', async () => {
  upstream.next(reply.status(500), reply.chat('다시'));
  const requests = await requestsOf(async () => {
    const response = await client.chat.completions.create({ model: 'test/echo', messages });
    assert.equal(response.choices[0]?.message.content, '다시');
  });
  assert.equal(requests, 2);
  upstream.next(reply.status(503));
  await assert.rejects(
    client.chat.completions.create({ model: 'test/echo', messages }, { maxRetries: 0 }),
    InternalServerError,
  );
});

test('an error in a stream is an exception in the loop, not an end', async () => {
  upstream.next(reply.stream(['반쯤', piece.error(500, 'boom')], { finish: null }));
  const stream = await client.chat.completions.create({ model: 'test/echo', messages, stream: true });
  let text = '';
  await assert.rejects(
    (async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    })(),
    (error) => error instanceof APIError && !(error instanceof APIConnectionError),
  );
  assert.equal(text, '반쯤');
});

test("an unimplemented endpoint is the client's 404 error", async () => {
  await assert.rejects(client.embeddings.create({ model: 'test/echo', input: 'x' }), NotFoundError);
  await assert.rejects(client.responses.create({ model: 'test/echo', input: 'x' }), NotFoundError);
});

test('a client that breaks out of a stream ends the upstream request', async () => {
  upstream.next(reply.stream(['하나', '둘']).cutAt(-300, 'never'));
  const reached = upstream.request(upstream.requests.length + 1);
  const stream = await client.chat.completions.create({ model: 'test/echo', messages, stream: true });
  for await (const _chunk of stream) break;
  await (await reached).aborted;
});
