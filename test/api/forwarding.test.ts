/** What of a request reaches the upstream, and what must not. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { maxima } from '../../src/wire/maxima.ts';
import {
  providerKey,
  startTestGateway,
  type TestAccount,
  type TestGateway,
  type TestResponse,
} from '../harness/gateway.ts';
import { rawly } from '../harness/raw-client.ts';
import { dumpOf, ledgerOf } from '../harness/read-ledger.ts';
import { assertError } from '../harness/response-rules.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

const messages = [{ role: 'user', content: '안녕' }];
let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;

before(async () => {
  upstream = await startUpstream();
  naru = await startTestGateway({
    models: [
      {
        id: 'test/echo',
        upstreams: [upstream.url],
        model: { input_modalities: ['text', 'image', 'audio', 'file'] },
      },
      { id: 'test/film', upstreams: [upstream.url], model: { input_modalities: ['text', 'image', 'video'] } },
      {
        id: 'test/own',
        upstreams: [upstream.url],
        candidates: [
          { provider: 'own', model: 'gpt-5', parameters: { temperature: 'keep', max_tokens: 'max_length' } },
        ],
      },
      {
        id: 'test/few',
        upstreams: [upstream.url],
        model: { supported_parameters: ['temperature', 'tools'] },
      },
    ],
    config: {
      providers: [
        { slug: 'up1', name: 'Upstream 1', dialect: 'openai', base_url: upstream.url, api_key: providerKey },
        {
          ...{ slug: 'own', dialect: 'openai', variant: 'openai', base_url: upstream.url },
          parameters: { top_k: 'keep', seed: 'drop' },
        },
      ],
    },
  });
  account = await naru.account({ credit: '100000000' });
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

const chat = (body: object, headers: Record<string, string> = {}) =>
  naru.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'test/echo', messages, ...body },
    headers,
  });

/** The body that the upstream got for one. */
async function passedOn(body: object, path = '/chat/completions', model = 'test/echo') {
  const response = await naru.send('POST', path, { key: account.key, body: { model, ...body } });
  assert.equal(response.status, 200, response.text);
  return upstream.requests.at(-1)?.body;
}

async function recordOf(response: TestResponse) {
  const id = response.headers.get('x-generation-id');
  return (await naru.send('GET', `/generation?id=${id}`, { key: account.key })).json.data;
}

test('every known parameter reaches the upstream unchanged', async () => {
  const known = {
    temperature: 0.7,
    top_p: 1,
    top_k: 0,
    min_p: 0.05,
    top_a: 0,
    frequency_penalty: -2,
    presence_penalty: 2,
    repetition_penalty: 1.1,
    seed: -42,
    stop: ['\n', '끝', '"'],
    logit_bias: { 50256: -100 },
    logprobs: true,
    top_logprobs: 20,
    n: 1,
    max_tokens: 100,
    max_completion_tokens: 90,
    user: 'end user 7',
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: 'n',
        strict: true,
        schema: { type: 'object', properties: { 한글: { type: ['string', 'null'] } } },
      },
    },
    tools: [
      {
        type: 'function',
        function: {
          name: 'f',
          description: 'd',
          parameters: { type: 'object', $ref: '#/x', nested: [null, 1.5, 'é'] },
          strict: true,
        },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'f' } },
    parallel_tool_calls: false,
    reasoning: { effort: 'high', exclude: false },
    reasoning_effort: 'high',
    include_reasoning: true,
    verbosity: 'low',
    prediction: { type: 'content', content: 'x' },
    metadata: { a: 'b' },
    prompt_cache_key: 'k',
    service_tier: 'flex',
  };
  assert.deepEqual(await passedOn({ messages, ...known }), { model: 'upstream-echo', messages, ...known });
});

// spec:api/12.9
test('every documented form of a message, a tool, a choice, a format and an effort reaches the upstream', async () => {
  const tools = [{ type: 'function', function: { name: 'f', description: null, parameters: null } }];
  const search = { type: 'web_search', web_search: { enable: true } };
  const allowed_tools = { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] };
  const custom = { name: 'grep' };
  const bodies = [
    {
      messages: ['system', 'developer', 'user', 'assistant', 'function'].map((role) => ({
        role,
        content: null,
      })),
    },
    { messages: [{ role: 'user', content: [], name: null, tool_calls: null, tool_call_id: null }] },
    { messages: [{ role: 'assistant', content: '', tool_calls: [], function_call: null, refusal: null }] },
    { messages: [...messages, { role: 'tool', tool_call_id: '', content: [] }] },
    { messages: [...messages, { role: 'function', name: 'f', content: '18' }] },
    ...[[], tools, [search], [{ type: 'custom', custom }]].map((some) => ({ tools: some })),
    ...['none', 'auto', 'required'].map((tool_choice) => ({ tool_choice, tools })),
    { tools, tool_choice: { type: 'function', function: { name: 'f' } } },
    { tools, tool_choice: { type: 'allowed_tools', allowed_tools } },
    { tools: [{ type: 'custom', custom }], tool_choice: { type: 'custom', custom } },
    { tools: [...tools, search], tool_choice: { type: 'web_search' } },
    ...['text', 'json_object', 'json_schema', 'grammar', 'python', 'structural_tag'].map((type) => ({
      response_format: { type, json_schema: { name: 'n' }, grammar: 'root ::= "x"' },
    })),
    { response_format: {}, reasoning: {} },
    ...['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', null].map((effort) => ({
      reasoning: { effort, max_tokens: null, summary: null },
    })),
  ];
  for (const body of bodies as readonly Readonly<Record<string, unknown>>[]) {
    const sent = await passedOn({ messages, ...body });
    for (const name of ['tool_choice', 'response_format', 'reasoning'])
      assert.deepEqual(sent?.[name], body[name], JSON.stringify(body));
  }
});

test('null counts as not sent, and unknown parameters are dropped', async () => {
  const extras = {
    temperature: null,
    stop: null,
    stream: null,
    foo: 1,
    route: 'fallback',
    transforms: ['middle-out'],
    plugins: [{ id: 'web' }],
    usage: { include: true },
    stream_options: { include_usage: false },
    __proto__x: {},
    provider: { order: ['up1'] },
    models: null,
    session_id: 's',
  };
  assert.deepEqual(await passedOn({ messages, ...extras }), { model: 'upstream-echo', messages });
});

test('messages reach the upstream unchanged, with every member that a client may add', async () => {
  const talk = [
    { role: 'system', content: [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } }] },
    { role: 'system', content: '😀 "quotes" \\ \u0000 \u2028', name: 'dev' },
    { role: 'user', content: 'x' },
    {
      role: 'assistant',
      content: null,
      reasoning: 'r',
      reasoning_content: 'r',
      reasoning_details: [{ type: 'reasoning.text', text: null, signature: 's' }],
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a": 1}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: '결과' },
    { role: 'assistant', content: 'x' },
  ];
  assert.deepEqual(await passedOn({ messages: talk }), { model: 'upstream-echo', messages: talk });
});

// spec:conformance/47
test('images, audio and files reach the upstream unchanged', async () => {
  const parts = [
    { type: 'text', text: 'what is it?' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    { type: 'file', file: { filename: '문서.pdf', file_data: 'data:application/pdf;base64,AA' } },
  ];
  assert.deepEqual(await passedOn({ messages: [{ role: 'user', content: parts }] }), {
    model: 'upstream-echo',
    messages: [{ role: 'user', content: parts }],
  });
});

test('an image or video URL may be a plain string', async () => {
  const bare = [
    { type: 'text', text: 'what is it?' },
    { type: 'image_url', image_url: 'https://example.com/plain-string.png' },
    { type: 'image_url', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' },
    { type: 'video_url', video_url: 'https://example.com/film.mp4' },
  ];
  const sent = (await passedOn(
    { messages: [{ role: 'user', content: bare }] },
    '/chat/completions',
    'test/film',
  )) as {
    messages: readonly { content: readonly object[] }[];
  };
  assert.deepEqual(sent.messages[0]?.content, [
    { type: 'text', text: 'what is it?' },
    { type: 'image_url', image_url: { url: 'https://example.com/plain-string.png' } },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
    { type: 'video_url', video_url: { url: 'https://example.com/film.mp4' } },
  ]);
});

// spec:compat/4.3
test('a limit of -1 means none, and the record lists what had no effect', async () => {
  const response = await chat({
    top_k: -1,
    max_tokens: -1,
    max_completion_tokens: -1,
    foo: 1,
    temperature: null,
  });
  assert.equal(response.status, 200, response.text);
  assert.deepEqual(upstream.requests.at(-1)?.body, { model: 'upstream-echo', messages });
  assert.deepEqual((await recordOf(response)).ignored_parameters.sort(), [
    ...['foo', 'max_completion_tokens', 'max_tokens', 'top_k'],
  ]);
  for (const body of [{ top_k: -2 }, { max_tokens: -2 }, { max_tokens: 0 }, { seed: -1.5 }])
    assert.equal((await chat(body)).status, 400, JSON.stringify(body));
});

test('a record lists only a few members without effect, and only the beginning of their names', async () => {
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`${'x'.repeat(100)}${n}`, n]));
  const { ignored_parameters: ignored } = await recordOf(await chat(many));
  assert.equal(ignored.length, 16);
  assert.ok(ignored.every((name: string) => name === 'x'.repeat(64)));
});

test('a parameter that the model does not support is dropped, and the record lists it', async () => {
  const response = await chat({ model: 'test/few', temperature: 0.5, seed: 7, max_tokens: 9 });
  assert.deepEqual(upstream.requests.at(-1)?.body, {
    ...{ model: 'upstream-few', messages, temperature: 0.5, max_tokens: 9 },
  });
  const [attempt] = (await recordOf(response)).provider_responses;
  assert.deepEqual(attempt.parameter_changes, [{ parameter: 'seed', change: 'dropped' }]);
});

test('with `require_parameters`, a candidate that would drop a parameter is not used', async () => {
  const provider = { require_parameters: true };
  assert.equal((await chat({ model: 'test/own', provider, reasoning_effort: 'low' })).status, 200);
  assert.equal((await chat({ model: 'test/few', provider, temperature: 0.5 })).status, 200);
  for (const dropped of [
    { model: 'test/own', min_p: 0.1 },
    { model: 'test/own', seed: 7 },
    { model: 'test/few', reasoning_effort: 'low' },
  ])
    assertError(await chat({ provider, ...dropped }), 404, 'no_endpoints_found');
});

test('reasoning options and template arguments reach our own engine', async () => {
  const engine = await startUpstream();
  const own = await startTestGateway({
    models: [{ id: 'test/own', upstreams: [], model: { candidates: [{ slot: 'own' }] } }],
    config: {
      slots: [
        { name: 'own', external: { base_url: engine.url.replace('/v1', ''), health_path: '/health' } },
      ] as object,
    },
  });
  try {
    const { key } = await own.account();
    for (const [parameters, sent] of [
      [{ chat_template_kwargs: { preserve: true } }, { chat_template_kwargs: { preserve: true } }],
      [{ enable_thinking: false }, { chat_template_kwargs: { enable_thinking: false, thinking: false } }],
      [
        { thinking: { type: 'enabled' } },
        { chat_template_kwargs: { enable_thinking: true, thinking: true } },
      ],
      [
        { reasoning_effort: 'low', max_completion_tokens: 5 },
        {
          chat_template_kwargs: { enable_thinking: true, thinking: true },
          reasoning_effort: 'low',
          max_tokens: 5,
        },
      ],
    ] as const) {
      const body = { model: 'test/own', messages, ...parameters };
      const response = await own.send('POST', '/chat/completions', { key, body });
      assert.equal(response.status, 200, response.text);
      const got = engine.requests.findLast(({ path }) => path === '/v1/chat/completions')?.body ?? {};
      assert.deepEqual(got, { model: 'test/own', messages, ...sent });
    }
  } finally {
    await own.close();
    await engine.close();
  }
});

test('the configuration overrides the built-in rules of an API', async () => {
  const response = await chat({
    model: 'test/own',
    top_k: 5,
    max_tokens: 9,
    seed: 7,
    temperature: 0.2,
    stop: 'x',
  });
  assert.equal(response.status, 200, response.text);
  assert.deepEqual(upstream.requests.at(-1)?.body, {
    ...{ model: 'gpt-5', messages, max_length: 9, top_k: 5, temperature: 0.2 },
  });
  const [attempt] = (await recordOf(response)).provider_responses;
  assert.deepEqual(attempt.parameter_changes, [
    { parameter: 'max_tokens', change: 'renamed', to: 'max_length' },
    { parameter: 'seed', change: 'dropped' },
    { parameter: 'stop', change: 'dropped' },
  ]);
});

// spec:conformance/48
test('the gateway never fetches an image URL itself', async () => {
  // Its own path: a program that used this port before may still send requests to it.
  const path = `/${randomUUID()}.png`;
  let hits = 0;
  const trap = createServer((request, response) => {
    if (request.url === path) hits += 1;
    response.end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => trap.once('listening', resolve));
  const { port } = trap.address() as AddressInfo;
  for (const url of [
    `http://127.0.0.1:${port}${path}`,
    'http://169.254.169.254/latest',
    'http://[::1]/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:70/',
  ]) {
    const sent = (await passedOn({
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    })) as { messages: { content: { image_url: { url: string } }[] }[] };
    assert.equal(sent.messages[0]?.content[0]?.image_url.url, url);
  }
  assert.equal(hits, 0);
  trap.close();
});

// spec:conformance/49
test('content is not moderated', async () => {
  assert.equal(
    (await chat({ messages: [{ role: 'user', content: 'kill all processes, you idiot' }] })).status,
    200,
  );
});

test('content that a model does not support is omitted; tools keep their companion members', async () => {
  const body = {
    model: 'test/few',
    messages,
    temperature: 1,
    seed: 1,
    top_k: 3,
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
    tool_choice: 'auto',
    max_tokens: 5,
    stop: 'x',
    user: 'u',
  };
  const { seed: _seed, top_k: _topK, ...kept } = body;
  assert.deepEqual(await passedOn(body), { ...kept, model: 'upstream-few' });
});

test('a streamed request requests usage from the upstream, whatever the client sent', async () => {
  await chat({ stream: true, stream_options: { include_usage: false } });
  const sent = upstream.requests.at(-1)?.body;
  assert.equal(sent?.['stream'], true);
  assert.deepEqual(sent?.['stream_options'], { include_usage: true });
});

// spec:conformance/260
// security:22
test("no client header reaches the upstream; only the provider's key does", async () => {
  await chat(
    {},
    {
      cookie: 'session=secret',
      'x-forwarded-for': '10.9.8.7',
      'x-service-title': 'my app',
      'x-service-request-id': 'mine',
      'http-referer': 'https://app.example',
      'x-api-key': 'secret',
      'user-agent': 'my-client/1',
      'x-custom': 'yes',
      'proxy-authorization': 'Basic x',
      'openai-organization': 'org',
      traceparent: '00-1-1-00',
    },
  );
  const { headers } = upstream.requests.at(-1) ?? { headers: [] };
  assert.deepEqual(headers.map(([name]) => name.toLowerCase()).sort(), [
    'accept',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
    'user-agent',
  ]);
  assert.equal(upstream.requests.at(-1)?.header('authorization'), `Bearer ${providerKey}`);
  assert.doesNotMatch(JSON.stringify(headers), /secret;|my-client|10\.9\.8\.7|sk-naru/);
});

// spec:conformance/261
// security:21
test('no member of a body changes the upstream address', async () => {
  const before = upstream.requests.length;
  const bait = {
    api_base: 'http://127.0.0.1:1',
    base_url: 'http://127.0.0.1:1',
    api_key: 'stolen',
    extra_headers: { authorization: 'x' },
    headers: { host: 'evil' },
  };
  assertError(await chat({ provider: { base_url: 'http://127.0.0.1:1' } }), 400, 'invalid_request');
  assert.equal((await chat(bait)).status, 200);
  assert.equal(upstream.requests.length, before + 1);
  assert.deepEqual(upstream.requests.at(-1)?.body, { model: 'upstream-echo', messages });
});

// spec:conformance/22,23,262
// security:23
test("neither a client's key nor the provider's key is in any response, log line, metric or table", async () => {
  for (const stream of [false, true]) {
    upstream.next(
      reply.leak(401),
      reply.whole(null, { over: { choices: null, error: { message: `key ${providerKey}`, code: 401 } } }),
    );
    for (let n = 0; n < 2; n += 1) {
      const response = await chat({ stream });
      assertError(response, 502, 'provider_error');
      assert.ok(
        !response.text.includes(providerKey) && !JSON.stringify([...response.headers]).includes(providerKey),
      );
      assert.ok(!response.text.includes(account.key));
    }
  }
  upstream.next(
    reply.stream(['x', { chunk: { error: { code: 401, message: `Incorrect key ${providerKey}` } } }], {
      finish: null,
    }),
  );
  assert.ok(!(await chat({ stream: true })).text.includes(providerKey));
  await naru.send('GET', `/key?key=${account.key}`, { key: account.key });
  const dump = await dumpOf(naru);
  assert.ok(dump.includes(account.hash), 'the dump sees the keys');
  const logged = JSON.stringify(naru.logged);
  const metrics = await (await fetch(`http://127.0.0.1:${naru.gateway.admin.port}/metrics`)).text();
  assert.ok(metrics.includes('# TYPE '), 'the metrics are there to look at');
  for (const secret of [account.key, account.key.slice('sk-naru-v1-'.length), providerKey]) {
    assert.ok(!dump.includes(secret), 'no table has it');
    assert.ok(!logged.includes(secret), `no log line has ${secret.slice(0, 12)}`);
    assert.ok(!metrics.includes(secret), 'no metric has it');
  }
});

/** Texts that trip databases, JSON and terminals. */
const naughty = [
  '\0',
  'a\0b',
  '\ud800',
  '\udfff\ud800',
  'x'.repeat(1_000_000),
  '\ufffe\uffff',
  '\u202e\u2066',
  "'; DROP TABLE generation; --",
  '<img src=x onerror=alert(1)>',
  '{"a":1}',
  '\\u0000',
  '\r\nX-Evil: 1',
  '',
  ' ',
  '👩‍👩‍👧‍👦'.repeat(100),
  '\x24{jndi:ldap://x}',
  '__proto__',
  '%00%n%s',
];

// spec:conformance/257
test('no text in user, session, model or title breaks a request, its record or the ledger', async () => {
  const own = await naru.account({ credit: '100000000' });
  for (const text of naughty) {
    // Longer ones are refused by name (spec:errors/7.15).
    const stated = text.slice(0, maxima.id);
    upstream.next(
      reply.whole('ok', {
        usage: usage(10, 5),
        over: { id: text, service_tier: text, system_fingerprint: text },
      }),
    );
    const response = await naru.send('POST', '/chat/completions', {
      key: own.key,
      body: { model: 'test/echo', messages, user: stated, session_id: stated },
    });
    assert.equal(response.status, 200);
    assert.equal(response.json.service_tier, text.slice(0, 500));
    const id = response.headers.get('x-service-generation-id');
    await naru.settled();
    const record = (await naru.send('GET', `/generation?id=${id}`, { key: own.key })).json.data;
    assert.equal(record.total_cost, 20);
    assert.ok(record.external_user.length <= 500 && record.external_user.isWellFormed());
    const unknown = await naru.send('POST', '/chat/completions', {
      key: own.key,
      body: { model: text, models: [text], messages },
    });
    if (text.length > maxima.name) assertError(unknown, 400, 'invalid_request');
    else assert.equal(assertError(unknown, 400, 'model_not_found')['model'], text.toWellFormed());
  }
  const { debits, records } = await ledgerOf(naru, own);
  assert.equal(debits.length, naughty.length);
  assert.equal(records.length, 2 * naughty.length);
  assert.ok(!naru.logged.some((line) => line['event'] === 'settlement_quarantined'));
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
});

// spec:conformance/107,257
test('titles and referers of any bytes are accepted, Korean ones kept, and truncated to 500 characters', async () => {
  const body = JSON.stringify({ model: 'test/echo', messages });
  for (const [sent, kept] of [
    ['나루 앱', '나루 앱'],
    ['plain', 'plain'],
    ['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
    ['x'.repeat(16_384), 'x'.repeat(500)],
  ] as const) {
    const title = Buffer.from(sent).toString('latin1');
    const [response] = await rawly(
      naru.gateway.server.port,
      `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\nx-service-title: ${title}\r\nhttp-referer: https://x.example/${title}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${Buffer.from(body).toString('latin1')}`,
    );
    assert.equal(response?.status, 200);
    const id = response.all('x-service-generation-id')[0];
    const record = (await naru.send('GET', `/generation?id=${id}`, { key: account.key })).json.data;
    assert.equal(record.app_title, kept);
    assert.equal(record.http_referer, `https://x.example/${sent}`.slice(0, 500));
  }
});
