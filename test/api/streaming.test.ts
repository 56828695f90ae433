import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { providerKey, startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { ledgerOf, numberOf } from '../harness/read-ledger.ts';
import {
  assertBrokenStream,
  assertCommonHeaders,
  assertCompleteStream,
  assertError,
} from '../harness/response-rules.ts';
import { eventsOf, textOf } from '../harness/stream.ts';
import { sampledRange } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { eventually } from '../harness/until.ts';
import { gate, piece, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

const korean = '나루는 강을 건너는 곳 👩‍👩‍👧‍👦 — ferry, 渡し場 🇰🇷';
const words = ['나루는 ', '강을 건너는 곳 ', '👩‍👩‍👧‍👦 — ferry, ', '渡し場 🇰🇷'];
const request = { model: 'test/echo', stream: true, messages: [{ role: 'user', content: '안녕' }] };
let upstream: Upstream;
let second: Upstream;
let naru: TestGateway;
let account: TestAccount;

before(async () => {
  upstream = await startUpstream();
  second = await startUpstream();
  naru = await startTestGateway({
    models: [
      { id: 'test/echo', upstreams: [upstream.url] },
      { id: 'test/pair', upstreams: [upstream.url, second.url] },
    ],
    // Dozens of candidates fail here, and must still be tried in order.
    config: { limits: { keep_alive_comment_ms: 40 }, routing: { circuit_failures: 1_000_000 } },
  });
  account = await naru.account({ credit: '100000000' });
});
after(async () => {
  await naru?.close();
  await upstream?.close();
  await second?.close();
});

const chat = (body: object = request) => naru.send('POST', '/chat/completions', { key: account.key, body });

/** Opens a stream and reads it piece by piece. */
async function opened(body: object = request, from: { key: string } = account) {
  const leave = new AbortController();
  const response = await fetch(`${naru.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${from.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: leave.signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.ok(reader !== undefined);
  let text = '';
  return {
    response,
    leave: () => leave.abort(),
    /** Everything so far, once it contains `mark`. */
    async until(mark: string): Promise<string> {
      while (!text.includes(mark)) {
        const { value, done } = await reader.read();
        assert.ok(!done, `ended before ${mark}: ${text}`);
        text += value;
      }
      return text;
    },
    /** Everything to the end. */
    async rest(): Promise<string> {
      for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
      return text;
    },
  };
}

/** The first record of the account that meets `holds`, once it exists. */
// biome-ignore lint/suspicious/noExplicitAny: a record as a client sees it.
async function recordOf(id: string | null): Promise<any> {
  return eventually(`the record ${id}`, 2_000, async () => {
    const response = await naru.send('GET', `/generation?id=${id}`, { key: account.key });
    return response.status === 200 ? response.json.data : null;
  });
}

// spec:conformance/4,15,17,201,202,203 spec:api/15.3
test('a stream has its headers first, chunks as events, one usage chunk and one [DONE] at its end', async () => {
  upstream.next(reply.stream(words));
  const response = await chat();
  assert.equal(response.status, 200);
  assertCommonHeaders(response);
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.equal(response.headers.get('cache-control'), 'no-store');
  for (const name of ['x-service-generation-id', 'x-service-model', 'x-service-provider'])
    assert.ok(response.headers.get(name), name);
  const events = eventsOf(response.text);
  assert.equal(assertCompleteStream(events)['usage'].cost, 20);
  assert.equal(textOf(events), korean);
  assert.deepEqual(
    new Set(events.slice(0, -1).map((event) => event.json.id)),
    new Set([response.headers.get('x-service-generation-id')]),
  );
});

// spec:conformance/183
test('the generation id is readable before the second chunk', async () => {
  const barrier = gate();
  upstream.next(reply.stream(['first', barrier, ' last']));
  const stream = await opened();
  assert.match(stream.response.headers.get('x-service-generation-id') ?? '', /^gen-/);
  await stream.until('first');
  barrier.open();
  assert.equal(textOf(eventsOf(await stream.rest())), 'first last');
});

// spec:conformance/211
test('text that the upstream splits at any byte reaches the client whole', async () => {
  const script = reply.stream([korean], { framing: 'close', role: false, usage: null });
  const bytes = script.bytes({ ...request, model: 'upstream-echo' }).length;
  const places = sampledRange(0, bytes, 60);
  for (let first = 0; first < places.length; first += 50) {
    const cuts = places.slice(first, first + 50);
    upstream.next(...cuts.map((at) => script.splitAt(at)));
    const responses = await Promise.all(cuts.map(() => chat()));
    for (const response of responses) assert.equal(textOf(eventsOf(response.text)), korean);
  }
  upstream.next(script.byteByByte());
  assert.equal(textOf(eventsOf((await chat()).text)), korean);
});

// spec:conformance/211
test('every line ending and a byte order mark are accepted', async () => {
  for (const newline of ['\n', '\r\n', '\r'] as const) {
    upstream.next(
      reply.stream(words, { newline, bom: true }),
      reply.stream(words, { newline, bom: true, framing: 'close' }).drip(7, 0),
    );
    for (let n = 0; n < 2; n += 1) assert.equal(textOf(eventsOf((await chat()).text)), korean);
  }
});

// spec:conformance/204,205,206,207,208,227,228 spec:money/4.3
for (const [how, script] of Object.entries({
  'is closed': reply.stream(words).cutAt(-500, 'fin'),
  'is reset': reply.stream(words).cutAt(-500, 'rst'),
  'sends an error': reply.stream(['나루', piece.error(500, `boom ${providerKey} at http://10.0.0.1/v1`)], {
    done: false,
    finish: null,
  }),
  'sends an error with a string as its code': reply.stream(['나루', piece.error('overloaded', 'busy')], {
    finish: null,
  }),
  'sends nonsense': reply.stream(['나루', { data: '{"half":' }]),
  'ends without saying that it is done': reply.stream(['나루'], { finish: null, done: false, usage: null }),
})) {
  test(`an upstream that ${how} in the middle ends the stream with one error chunk, free of charge`, async () => {
    const before = await ledgerOf(naru, account);
    upstream.next(script);
    const response = await chat();
    assert.equal(response.status, 200);
    const error = assertBrokenStream(eventsOf(response.text), '502 provider_error');
    assert.doesNotMatch(response.text, new RegExp(`${providerKey}|10\\.0\\.0\\.1|boom|busy|127\\.0\\.0\\.1`));
    assert.ok(!('usage' in error));
    const now = await ledgerOf(naru, account);
    assert.deepEqual({ ...now, records: [] }, { ...before, records: [] });
    const record = await recordOf(response.headers.get('x-service-generation-id'));
    assert.equal(record.total_cost, 0);
    assert.equal(record.error_type, 'provider_error');
    assert.ok(record.tokens_completion > 0, 'the tokens are on record');
  });
}

// spec:conformance/204,205 spec:errors/8.5
test('an upstream that falls silent in the middle is a 408 in the stream', async () => {
  const hasty = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url] }],
    config: { limits: { stream_idle_timeout_ms: 200 } },
  });
  try {
    const { key } = await hasty.account();
    upstream.next(reply.stream(['나루']).cutAt(-300, 'never'));
    const response = await hasty.send('POST', '/chat/completions', { key, body: request });
    const error = assertBrokenStream(eventsOf(response.text), '408 timeout');
    assert.equal(error['metadata'].timeout_sec, 0.2);
    const id = response.headers.get('x-service-generation-id');
    assert.equal((await hasty.send('GET', `/generation?id=${id}`, { key })).json.data.total_cost, 0);
  } finally {
    await hasty.close();
  }
});

// spec:conformance/209
test('a failure before the first chunk is an ordinary error with its status', async () => {
  upstream.next(
    reply.status(500),
    reply.drop('rst'),
    reply.stream([], { finish: null, usage: null }),
    reply.stream([piece.error(503, 'no')], { finish: null }),
  );
  for (const code of [500, null, 200, 503]) {
    const response = await chat();
    assert.equal(assertError(response, 502, 'provider_error')['provider_code'], code);
  }
});

// spec:conformance/210
test('not one byte of a candidate that failed before its first chunk reaches the client', async () => {
  for (const failing of [
    reply.status(500, { error: { message: 'FIRST' } }),
    reply.stream(
      [{ comment: 'FIRST' }, { delta: { role: 'assistant', content: '' } }, piece.error(500, 'FIRST')],
      { finish: null },
    ),
    reply.stream([{ comment: 'FIRST' }], { finish: null, done: false, usage: null }),
    reply.json({ error: { message: 'FIRST', code: 500 } }),
    reply.stream([], { finish: 'error' }),
    reply.whole('FIRST', { finish: 'error' }),
  ]) {
    upstream.next(failing);
    second.next(reply.stream(['SECOND']));
    const response = await chat({ ...request, model: 'test/pair' });
    assert.equal(response.status, 200);
    assert.doesNotMatch(response.text, /FIRST/);
    assert.equal(textOf(eventsOf(response.text)), 'SECOND');
    assert.equal(response.headers.get('x-service-provider'), 'up2');
    assertCompleteStream(eventsOf(response.text));
  }
});

// spec:api/14.5 spec:errors/6.6 spec:money/4.3
test('an upstream that ends with the reason `error` has failed, also without an error object', async () => {
  const whole = { ...request, model: 'test/pair', stream: false };
  for (const failing of [
    reply.whole('FIRST', { finish: 'error' }),
    reply.stream(['FIRST'], { finish: 'error' }),
    reply.whole('FIRST', { finish: 'insufficient_system_resource' }),
  ]) {
    upstream.next(failing);
    second.next(reply.chat('SECOND'));
    assert.equal((await chat(whole)).json.choices[0].message.content, 'SECOND');
    upstream.next(failing);
    assertError(await chat({ ...request, stream: false }), 502, 'provider_error');
  }
  const own = await naru.account({ credit: '1000' });
  for (const path of ['/chat/completions', '/completions']) {
    upstream.next(reply.stream(['half'], { finish: 'error', usage: usage(10, 5) }));
    const body = { ...request, ...(path === '/completions' ? { prompt: 'x' } : {}) };
    const events = eventsOf((await naru.send('POST', path, { key: own.key, body })).text);
    assert.match(assertBrokenStream(events, '502 provider_error')['message'], /upstream/);
  }
  const { debits, records } = await ledgerOf(naru, own);
  assert.deepEqual(debits, []);
  assert.deepEqual(
    records.map(({ error_type }) => error_type),
    ['provider_error', 'provider_error'],
  );
});

// spec:api/15.8 spec:compat/2.19
test('no comment is sent before the first chunk, and some during later silence', async () => {
  const [head, middle] = [gate(), gate()];
  upstream.next(reply.stream([{ comment: 'early' }, head, '나루', middle, '터']));
  const reached = upstream.request(upstream.requests.length + 1);
  const stream = opened();
  await reached;
  await head.reached;
  // Several times the interval of comments, in which nothing may be sent.
  await new Promise((resolve) => setTimeout(resolve, 120));
  head.open();
  const { until, rest } = await stream;
  const first = await until('나루');
  assert.ok(first.startsWith('data: '), first);
  await until(': keep-alive\n\n');
  middle.open();
  const text = await rest();
  assert.equal(textOf(eventsOf(text)), '나루터');
  assertCompleteStream(eventsOf(text));
});

// spec:conformance/212,185 spec:money/4.4
test('a client that disconnects ends the upstream request within a second, and pays for the generated text', async () => {
  const before = await ledgerOf(naru, account);
  const hold = gate();
  upstream.next(reply.stream(['하나 둘 셋 넷 다섯', hold, 'never']));
  const reached = upstream.request(upstream.requests.length + 1);
  const stream = await opened();
  await stream.until('다섯');
  const leftMs = naru.clock.monotonic();
  stream.leave();
  assert.ok((await (await reached).aborted) - leftMs < scaledLimit(1_000));
  const record = await recordOf(stream.response.headers.get('x-service-generation-id'));
  assert.equal(record.cancelled, true);
  assert.equal(record.usage_source, 'counted');
  assert.ok(
    record.tokens_completion >= 5 && record.tokens_completion <= 20,
    String(record.tokens_completion),
  );
  assert.equal(record.total_cost, record.tokens_prompt + 2 * record.tokens_completion);
  const now = await ledgerOf(naru, account);
  assert.equal(now.debits.length, before.debits.length + 1);
  assert.equal(numberOf(now.debits.at(-1) ?? ''), record.total_cost);
  await assert.rejects(stream.rest());
});

// spec:conformance/212 spec:money/4.4
test('usage that the upstream reported before the client disconnected is billed', async () => {
  const hold = gate();
  upstream.next(reply.stream(['하나', { chunk: { choices: [], usage: usage(7, 3) } }, hold]));
  const stream = await opened();
  await stream.until('하나');
  await hold.reached;
  stream.leave();
  const record = await recordOf(stream.response.headers.get('x-service-generation-id'));
  assert.equal(record.total_cost, 13);
  assert.equal(record.usage_source, 'upstream');
});

// spec:conformance/212
test('a client that disconnects before the first chunk ends the upstream request too, free of charge', async () => {
  const before = await ledgerOf(naru, account);
  upstream.next(reply.hang());
  const reached = upstream.request(upstream.requests.length + 1);
  const leave = new AbortController();
  const lost = naru.send('POST', '/chat/completions', {
    key: account.key,
    body: request,
    signal: leave.signal,
  });
  const received = await reached;
  const leftMs = naru.clock.monotonic();
  leave.abort();
  await assert.rejects(lost);
  assert.ok((await received.aborted) - leftMs < scaledLimit(1_000));
  const endMs = performance.now() + 1000;
  let now = await ledgerOf(naru, account);
  while (now.records.length === before.records.length && performance.now() < endMs)
    now = await ledgerOf(naru, account);
  assert.equal(now.records.at(-1)?.cancelled, true);
  assert.equal(now.records.at(-1)?.total_cost, 0);
  assert.deepEqual(now.debits, before.debits);
});

// spec:money/5.2
test('the end of a response is held back until its charge is durable', async () => {
  const hold = gate();
  upstream.next(reply.stream(['끝', { delta: {} }]).pauseAt(-1, hold));
  const stream = await opened();
  const early = await stream.until('끝');
  assert.doesNotMatch(early, /"finish_reason":"stop"|DONE/);
  hold.open();
  const events = eventsOf(await stream.rest());
  assertCompleteStream(events);
  assert.ok(events.some((event) => event.json?.choices[0]?.finish_reason === 'stop'));
});

// spec:api/16.3
test('the record is readable before the last byte of the stream is sent', async () => {
  upstream.next(reply.stream(['a', 'b']));
  const stream = await opened();
  await stream.until('[DONE]');
  const response = await naru.send(
    'GET',
    `/generation?id=${stream.response.headers.get('x-service-generation-id')}`,
    { key: account.key },
  );
  assert.equal(response.status, 200);
});

test('an upstream that keeps its connection open after [DONE] does not delay the client', async () => {
  upstream.next(reply.stream(['a']).cutAt(-5, 'never'));
  const events = eventsOf((await chat()).text);
  assertCompleteStream(events);
});

test('a response is complete when the upstream closes after its finish reason without [DONE]', async () => {
  upstream.next(
    reply.stream(['a', 'b'], { done: false }),
    reply.stream(['a', 'b'], { done: false, usage: null, framing: 'close' }),
  );
  for (let n = 0; n < 2; n += 1) assert.equal(textOf(eventsOf((await chat()).text)), 'ab');
});

test('a JSON response to a streaming request is streamed', async () => {
  upstream.next(reply.whole(korean));
  const response = await chat();
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const events = eventsOf(response.text);
  assert.equal(assertCompleteStream(events)['usage'].cost, 20);
  assert.equal(textOf(events), korean);
});

test('tokens that arrive one by one are relayed one by one', async () => {
  const gates = [gate(), gate(), gate()];
  upstream.next(reply.stream(gates.flatMap((each, n) => [`w${n}`, each])));
  const stream = await opened();
  for (const [n, each] of gates.entries()) {
    await stream.until(`w${n}`);
    each.open();
  }
  assertCompleteStream(eventsOf(await stream.rest()));
});

test('a client that reads nothing pauses the upstream, and gets everything once it reads', async () => {
  const block = 'x'.repeat(64 * 1024);
  upstream.next(reply.stream(Array.from({ length: 400 }, () => block)));
  const reached = upstream.request(upstream.requests.length + 1);
  const response = await fetch(`${naru.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  let sent = false;
  void (await reached).ended.then(() => {
    sent = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 150));
  assert.equal(sent, false, '26 MB are not held in memory for a client that does not read');
  assert.equal(textOf(eventsOf(await response.text())).length, 400 * block.length);
});

test('a response without a finish reason gets one, for each choice that has none', async () => {
  const choice = (index: number, delta: object, finish_reason: string | null = null): object => ({
    chunk: { choices: [{ index, delta, finish_reason }] },
  });
  const endings: readonly (readonly [Parameters<typeof reply.stream>[0], object])[] = [
    [['나루'], { 0: 'stop' }],
    [piece.tool(0, 'weather', '{}'), { 0: 'tool_calls' }],
    [
      [choice(0, { content: '하나' }), choice(2, { content: '둘' }), choice(0, {}, 'length')] as never,
      { 0: 'length', 2: 'stop' },
    ],
  ];
  for (const [pieces, reasons] of endings) {
    upstream.next(reply.stream(pieces, { finish: null }));
    const events = eventsOf((await chat({ ...request, n: 2 })).text);
    assertCompleteStream(events);
    const ends = events
      .flatMap((event) => event.json?.choices ?? [])
      .filter((one) => one.finish_reason !== null);
    assert.deepEqual(Object.fromEntries(ends.map((one) => [one.index, one.finish_reason])), reasons);
  }
});

// spec:compat/3
test('a stream of reasoning and tool calls follows the rules of strict clients', async () => {
  upstream.next(
    reply.stream(
      [
        { reasoning: '생각' },
        ...piece.tool(0, 'weather', '{"city"', ':"서울"}'),
        ...piece.tool(1, 'time', '{}'),
      ],
      { finish: 'tool_calls' },
    ),
  );
  const events = eventsOf((await chat()).text);
  assertCompleteStream(events);
  const calls = events.flatMap((event) => event.json?.choices[0]?.delta.tool_calls ?? []);
  assert.deepEqual(
    calls
      .filter((call) => call.id !== undefined)
      .map((call) => [call.index, call.id, call.type, call.function.name]),
    [
      [0, 'call_0', 'function', 'weather'],
      [1, 'call_1', 'function', 'time'],
    ],
  );
  assert.equal(
    calls
      .filter((call) => call.index === 0)
      .map((call) => call.function.arguments ?? '')
      .join(''),
    '{"city":"서울"}',
  );
});

// spec:compat/3
test('an upstream that sends nulls everywhere parses in strict clients', async () => {
  const nulls = {
    content: null,
    role: null,
    refusal: null,
    reasoning: null,
    reasoning_details: null,
    tool_calls: null,
    images: null,
    audio: null,
    annotations: null,
    function_call: null,
  };
  upstream.next(
    reply.stream(
      [
        {
          chunk: {
            id: null,
            system_fingerprint: null,
            service_tier: null,
            error: null,
            usage: null,
            choices: [{ index: 0, delta: nulls, finish_reason: null, logprobs: null }],
          },
        },
        { chunk: { choices: [{ delta: { ...nulls, content: '나루' } }] } },
        {
          delta: {
            tool_calls: [{ index: 0, id: null, type: null, function: { name: null, arguments: null } }],
          },
        },
        { delta: { tool_calls: [{ index: 0 }] } },
        { chunk: { choices: [{ index: 0, finish_reason: 'eos' }] } },
      ],
      {
        finish: null,
        usageOn: 'always',
        usage: {
          prompt_tokens: 10,
          completion_tokens: 5,
          prompt_tokens_details: { cached_tokens: null, audio_tokens: null },
          completion_tokens_details: null,
          cost: null,
        },
      },
    ),
  );
  const events = eventsOf((await chat()).text);
  assertCompleteStream(events);
  assert.equal(textOf(events), '나루');
});
