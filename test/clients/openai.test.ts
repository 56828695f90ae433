/** `openai`, the client of the dialect's owner: texts, models, errors, retries and leaving. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { type ClientWorld, clientModel, openClientWorld, weather } from '../harness/client-world.ts';
import { piece, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

let world: ClientWorld;
let engine: Upstream;
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: '서울 날씨는?' }];
const request = { model: clientModel, messages };

before(async () => {
  engine = await startUpstream();
  const external = { base_url: engine.url, health_path: '/health' };
  const names = ['one', 'two'];
  world = await openClientWorld({
    models: names.map((name) => ({
      id: `local/${name}`,
      upstreams: [],
      model: { candidates: [{ slot: name }] },
    })),
    config: {
      limits: { cold_wait_ms: 0 },
      slots: names.map((name) => ({ name, external, start_budget_ms: 1_000 })),
    },
  });
});
after(async () => {
  await world?.close();
  await engine?.close();
});

function clientWith(apiKey: string, maxRetries = 0, baseURL = world.url): OpenAI {
  return new OpenAI({ apiKey, baseURL, maxRetries, timeout: 20_000 });
}

/** The cost is ours: the client's types do not have it. */
function costOf(counted: object | null | undefined): unknown {
  return (counted as { cost?: unknown } | null | undefined)?.cost;
}

test('the models are listed', async () => {
  const models = await Array.fromAsync(clientWith('none').models.list());
  assert.deepEqual(models.map((model) => model.id).sort(), ['local/one', 'local/two', clientModel]);
});

test('a text is completed as JSON, and the ledger has its cost', async () => {
  const payer = await world.payer();
  world.upstream.next(reply.chat(' 흐른다', { usage: usage(10, 5) }));
  const response = await clientWith(payer.key).completions.create({ model: clientModel, prompt: '강은' });
  assert.equal(response.object, 'text_completion');
  assert.equal(response.choices[0]?.text, ' 흐른다');
  assert.equal(response.choices[0]?.finish_reason, 'stop');
  assert.equal(response.usage?.total_tokens, 15);
  assert.equal(costOf(response.usage), 20);
  await payer.charged(20);
});

test('a text is completed as a stream, and the ledger has its cost', async () => {
  const payer = await world.payer();
  world.upstream.next(reply.stream([' 흐', '른다'], { usage: usage(10, 5) }));
  const stream = await clientWith(payer.key).completions.create({
    model: clientModel,
    prompt: '강은',
    stream: true,
    stream_options: { include_usage: true },
  });
  const chunks = await Array.fromAsync(stream);
  assert.equal(chunks.map((chunk) => chunk.choices[0]?.text ?? '').join(''), ' 흐른다');
  assert.equal(chunks.at(-1)?.usage?.total_tokens, 15);
  assert.equal(costOf(chunks.at(-1)?.usage), 20);
  await payer.charged(20);
});

test('the stream helper aggregates our stream, with its tool calls and its usage', async () => {
  const payer = await world.payer();
  world.upstream.next(
    reply.stream(['찾아볼게요. ', ...piece.tool(0, 'weather', '{"city":', '"Seoul"}')], {
      finish: 'tool_calls',
      usage: usage(20, 8),
    }),
  );
  const response = await clientWith(payer.key)
    .chat.completions.stream({ ...request, tools: [weather.tool], stream_options: { include_usage: true } })
    .finalChatCompletion();
  const message = response.choices[0]?.message;
  assert.equal(message?.content, '찾아볼게요. ');
  const [call] = message?.tool_calls ?? [];
  assert.ok(call?.type === 'function');
  assert.deepEqual([call.function.name, call.function.arguments], ['weather', '{"city":"Seoul"}']);
  assert.equal(response.choices[0]?.finish_reason, 'tool_calls');
  assert.equal(costOf(response.usage), 36);
  await payer.charged(36);
});

test('leaving a stream stops the upstream and bills the generated text', async () => {
  const payer = await world.payer();
  const count = world.upstream.requests.length;
  world.upstream.next(reply.stream(['맑', '음', { waitMs: 60_000 }, '!']));
  const stream = await clientWith(payer.key).chat.completions.create({ ...request, stream: true });
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content === '음') break;
  await (await world.upstream.request(count + 1)).aborted;
  await payer.chargedForLeaving();
});

test('an error in the middle of a stream is thrown after the text, and costs nothing', async () => {
  const payer = await world.payer();
  world.upstream.next(reply.stream(['맑', piece.error(500, 'overloaded'), '음']));
  const stream = await clientWith(payer.key).chat.completions.create({ ...request, stream: true });
  let text = '';
  await assert.rejects(async () => {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  }, OpenAI.APIError);
  assert.equal(text, '맑');
  await payer.charged();
});

// spec:compat/13.1
test('every failure is the error class of its status; one that is not retryable is requested once', async () => {
  const payer = await world.payer();
  const poor = await world.payer({ credit: '0' });
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } } as const;
  const chat =
    (key: string, more: object = {}) =>
    () =>
      clientWith(key, 2).chat.completions.create({ ...request, ...more });
  const cases: readonly (readonly [() => Promise<unknown>, { prototype: Error }, number, string])[] = [
    [chat(payer.key, { messages: [] }), OpenAI.BadRequestError, 400, 'invalid_request'],
    [chat(payer.key, { model: `${clientModel}:fast` }), OpenAI.BadRequestError, 400, 'model_not_found'],
    [chat('sk-naru-nobody'), OpenAI.AuthenticationError, 401, 'invalid_api_key'],
    [chat(poor.key), OpenAI.APIError, 402, 'insufficient_credits'],
    [
      chat(payer.key, { messages: [{ role: 'user', content: [picture] }] }),
      OpenAI.NotFoundError,
      404,
      'no_endpoints_found',
    ],
    [
      () => clientWith(payer.key, 2).embeddings.create({ model: clientModel, input: 'x' }),
      OpenAI.NotFoundError,
      404,
      'not_supported',
    ],
    [
      () => clientWith(payer.key, 2).responses.create({ model: clientModel, input: 'x' }),
      OpenAI.NotFoundError,
      404,
      'not_supported',
    ],
  ];
  for (const [attempt, kind, status, errorType] of cases) {
    const { requestCount: sent } = world;
    await assert.rejects(attempt, (error) => {
      assert.ok(error instanceof OpenAI.APIError, String(error));
      assert.equal(Object.getPrototypeOf(error), kind.prototype, `${status}: ${error.name}`);
      assert.equal(error.status, status);
      assert.equal(error.code, status);
      assert.partialDeepStrictEqual(error.error, { metadata: { error_type: errorType } });
      assert.equal(error.headers?.get('x-should-retry'), 'false');
      assert.equal(error.requestID, error.headers?.get('x-service-request-id'));
      return true;
    });
    assert.equal(world.requestCount, sent + 1, errorType);
  }
  await payer.charged();
});

test('a failed upstream is retried, and only the response is billed', async () => {
  const payer = await world.payer();
  world.upstream.next(reply.status(500), reply.chat('맑음', { usage: usage(10, 5) }));
  const { requestCount: count } = world;
  const response = await clientWith(payer.key, 1).chat.completions.create(request);
  assert.equal(response.choices[0]?.message.content, '맑음');
  assert.equal(world.requestCount, count + 2);
  await payer.charged(20);
});

test('a model that is loading is a 503 whose Retry-After brings the client back when it is ready', async () => {
  const payer = await world.payer();
  engine.respond((request) => (request.path === '/health' ? reply.json({}) : reply.chat('준비됐어요')));
  const failure = await clientWith(payer.key)
    .chat.completions.create({ ...request, model: 'local/one' })
    .then(
      () => assert.fail('it was not loading'),
      (error: unknown) => error,
    );
  assert.ok(failure instanceof OpenAI.InternalServerError, String(failure));
  assert.equal(failure.status, 503);
  assert.equal(failure.headers.get('retry-after'), '1');
  assert.equal(failure.headers.get('x-should-retry'), null);
  const { requestCount: count } = world;
  const response = await clientWith(payer.key, 2).chat.completions.create({ ...request, model: 'local/two' });
  assert.equal(response.choices[0]?.message.content, '준비됐어요');
  assert.equal(world.requestCount, count + 2, 'one refusal, one response');
  await payer.charged(20);
});

test('a client above its rate gets a RateLimitError, and waits for Retry-After if configured', async (t) => {
  const hurried = await openClientWorld({
    config: { edge: { rate_limit: 'builtin' }, limits: { requests_per_second: 1, burst: 1 } },
  });
  t.after(() => hurried.close());
  const payer = await hurried.payer();
  const impatient = clientWith(payer.key, 0, hurried.url);
  await impatient.chat.completions.create(request);
  await assert.rejects(impatient.chat.completions.create(request), (error) => {
    assert.ok(error instanceof OpenAI.RateLimitError, String(error));
    assert.equal(error.headers.get('retry-after'), '1');
    assert.partialDeepStrictEqual(error.error, {
      metadata: { error_type: 'rate_limit_exceeded', retry_after_sec: 1 },
    });
    return true;
  });
  const response = await clientWith(payer.key, 2, hurried.url).chat.completions.create(request);
  assert.equal(response.usage?.total_tokens, 15);
  await payer.charged(20, 20);
});
