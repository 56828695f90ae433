import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  providerKey,
  startTestGateway,
  type TestAccount,
  type TestGateway,
  type TestResponse,
} from '../harness/gateway.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
import { assertChatResponse, assertError } from '../harness/response-rules.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';
import { piece, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

const messages = [{ role: 'user', content: 'hi' }];
let ups: readonly Upstream[];
let naru: TestGateway;
let account: TestAccount;
/** Gives an upstream 0.3 s. Only tests of that limit use it: on a busy machine nothing else may depend on it. */
let hasty: TestGateway;
let hastyAccount: TestAccount;
const hastyMs = 300;

before(async () => {
  ups = await Promise.all([startUpstream(), startUpstream(), startUpstream()]);
  const [one, two, three] = ups.map((up) => up.url);
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  naru = await startTestGateway({
    models: [
      { id: 'test/echo', upstreams: [one] },
      { id: 'test/three', upstreams: [one, two, three] },
      { id: 'test/other', upstreams: [two] },
      {
        id: 'test/small',
        upstreams: [one, two],
        candidates: [{ context_length: 1000 }, { context_length: 5000 }],
        model: { context_length: 1000 },
      },
      { id: 'test/dead', upstreams: ['http://127.0.0.1:1/v1'] },
    ],
    expectsInternalErrors: true,
  });
  account = await naru.account({ credit: '1000000' });
  hasty = await startTestGateway({
    models: [
      { id: 'test/echo', upstreams: [one] },
      { id: 'test/three', upstreams: [one, two, three] },
    ],
    config: { limits: { upstream_timeout_ms: hastyMs } },
  });
  hastyAccount = await hasty.account({ credit: '1000000' });
});
after(async () => {
  await naru?.close();
  await hasty?.close();
  for (const up of ups ?? []) await up.close();
});

const chat = (body: object, key = account.key): Promise<TestResponse> =>
  naru.send('POST', '/chat/completions', { key, body: { messages, ...body } });
const hastyChat = (body: object, key = hastyAccount.key): Promise<TestResponse> =>
  hasty.send('POST', '/chat/completions', { key, body: { messages, ...body } });
const attempts = (): number[] => ups.map((up) => up.requests.length);
/** How many attempts each upstream got while `work` ran. */
async function attemptsOf(work: () => Promise<void>): Promise<number[]> {
  const before = attempts();
  await work();
  return attempts().map((count, at) => count - (before[at] ?? 0));
}
const up = (at: number): Upstream => {
  const found = ups[at];
  if (found === undefined) throw new Error(`no upstream ${at}`);
  return found;
};

// spec:conformance/40,41,42,43
test('an id that is not exactly in the catalogue returns a 400 that repeats it', async () => {
  for (const model of [
    'no/such',
    'test/echo:nitro',
    'test/echo:floor',
    'test/echo:free',
    'test/echo:online',
    'openrouter/auto',
    'naru/auto',
    'auto',
    'Test/Echo',
    'TEST/ECHO',
    ' test/echo',
    'test/echo ',
    'test/echo/',
    'test//echo',
    '/test/echo',
    'test/e\u0063\u0327ho',
    '',
    '__proto__',
    'constructor',
  ]) {
    assert.equal(assertError(await chat({ model }), 400, 'model_not_found')['model'], model);
    assert.equal(
      assertError(
        await naru.send('POST', '/completions', { key: account.key, body: { model, prompt: 'x' } }),
        400,
        'model_not_found',
      )['model'],
      model,
    );
  }
});

// spec:conformance/40 spec:api/12.2
test('the first unknown model of a list is named, and no candidate is tried', async () => {
  const tried = await attemptsOf(async () => {
    assert.equal(
      assertError(await chat({ models: ['test/echo', 'no/1', 'no/2'] }), 400, 'model_not_found')['model'],
      'no/1',
    );
    assert.equal(
      assertError(await chat({ model: 'no/0', models: ['test/echo'] }), 400, 'model_not_found')['model'],
      'no/0',
    );
  });
  assert.deepEqual(tried, [0, 0, 0]);
});

// spec:conformance/44,16
test('the next model of a list responds when the first fails, and the response names it', async () => {
  up(0).next(reply.status(500));
  const response = await chat({ models: ['test/echo', 'test/other'] });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-service-model'), 'test/other');
  assert.equal(response.headers.get('x-service-provider'), 'up2');
  assert.equal(response.json.model, 'test/other');
});

// spec:conformance/45
test('the first model of a list responds if it can, and no other is tried', async () => {
  const tried = await attemptsOf(async () => {
    const response = await chat({ model: 'test/echo', models: ['test/echo', 'test/other'] });
    assert.equal(response.headers.get('x-service-model'), 'test/echo');
  });
  assert.deepEqual(tried, [1, 0, 0]);
});

// spec:conformance/225,222
test('502 is returned after every candidate was tried once, with the status of the last', async () => {
  up(0).next(reply.status(500));
  up(1).next(reply.drop('rst'));
  up(2).next(reply.status(418));
  const tried = await attemptsOf(async () => {
    assert.equal(
      assertError(await chat({ model: 'test/three' }), 502, 'provider_error')['provider_code'],
      418,
    );
  });
  // The second is retried when the connection that it dropped was not new.
  assert.deepEqual([tried[0], tried[2]], [1, 1]);
  assert.ok(tried[1] === 1 || tried[1] === 2, String(tried));
});

// spec:conformance/226,186,16,234
test('the last candidate serves the request, and its record lists the three attempts in order', async () => {
  const said = `first words, key ${providerKey}, at http://10.0.0.7:8000/v1${' and on'.repeat(100)}`;
  up(0).next(reply.status(503, { error: { message: said } }));
  up(1).next(reply.drop());
  up(2).next(reply.whole('saved', { usage: usage(10, 5) }));
  const response = await chat({ model: 'test/three' });
  assert.equal(response.status, 200);
  assertChatResponse(response.json);
  assert.equal(response.json.choices[0].message.content, 'saved');
  assert.equal(response.headers.get('x-service-provider'), 'up3');
  assert.equal(response.json.provider, 'Upstream 3');
  // In quotes: an id may contain the letters by chance.
  assert.doesNotMatch(response.text, /first words|"up[12]|"Upstream [12]"/);
  const record = (
    await naru.send('GET', `/generation?id=${response.headers.get('x-service-generation-id')}`, {
      key: account.key,
    })
  ).json.data;
  assert.deepEqual(
    // biome-ignore lint/suspicious/noExplicitAny: a record as a client sees it.
    record.provider_responses.map((each: any) => [each.provider_name, each.status, each.is_byok]),
    [
      ['Upstream 1', 503, false],
      ['Upstream 2', null, false],
      ['Upstream 3', 200, false],
    ],
  );
  const requestId = response.headers.get('x-service-request-id');
  assert.equal(record.request_id, requestId);
  const [first, second, third] = record.provider_responses;
  assert.match(first.message, /^first words, key \*\*\*, at \[url\] and on and on/);
  assert.equal(first.message.length, 500);
  assert.deepEqual([second.message, third.message], [undefined, undefined], 'they said nothing');
  assert.deepEqual(
    naru.logged.flatMap((line) => (line['request_id'] === requestId ? [line['event']] : [])),
    ['attempt_failed', 'attempt_failed', 'request'],
    'the log has the same id for both failed attempts and for the request',
  );
});

// spec:api/16.8
test('what an upstream says when it ends its stream with an error is in the record', async () => {
  up(0).next(reply.stream(['part', piece.error(503, 'no memory at 10.0.0.7')]));
  const { text } = await chat({ model: 'test/echo', stream: true });
  const [, id] = /"id":"(gen-[^"]+)"/.exec(text) ?? [];
  const { data } = (await naru.send('GET', `/generation?id=${id}`, { key: account.key })).json;
  assert.deepEqual(
    [data.error_type, data.provider_responses[0].message],
    ['provider_error', 'no memory at [host]'],
  );
});

// spec:conformance/231,232,233
test('the client gets 502 with the status of the upstream, whatever that status is', async () => {
  for (const status of [
    400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529, 301, 302,
  ]) {
    up(0).next(status === 429 ? reply.tooMany('7') : reply.status(status));
    const metadata = assertError(await chat({ model: 'test/echo' }), 502, 'provider_error');
    assert.equal(metadata['provider_code'], status);
    assert.equal('upstream_message' in metadata, [400, 413, 422].includes(status), `${status}`);
  }
});

// spec:conformance/222 spec:errors/3.9
test('an upstream without a status is reported as null', async () => {
  assert.equal(assertError(await chat({ model: 'test/dead' }), 502, 'provider_error')['provider_code'], null);
  up(0).next(reply.raw('\0garbage\r\n\r\n'));
  assert.equal(assertError(await chat({ model: 'test/echo' }), 502, 'provider_error')['provider_code'], null);
});

test('an invalid JSON response is a failed candidate', async () => {
  for (const bad of [
    reply.json({}),
    reply.json([]),
    reply.json(null),
    reply.json({ choices: [] }),
    reply.json({ choices: [1] }),
    reply.json({ error: { message: 'no', code: 500 } }),
    reply.status(200, '<html>'),
    reply.whole('cut').cutAt(-10),
    reply.whole('x', { framing: { length: 10_000 } }).thenClose(),
    reply.whole('x', { headers: { 'content-encoding': 'gzip' } }),
  ]) {
    up(0).next(bad);
    assertError(await chat({ model: 'test/echo' }), 502, 'provider_error');
  }
});

// spec:conformance/221,255 spec:errors/8
test('an upstream that stays silent returns 408 at the limit, within 5 per cent', async () => {
  for (const stream of [false, true]) {
    const tookMs: number[] = [];
    // Other load on the host makes one late, and none early.
    while (tookMs.length < 5 && !tookMs.some((ms) => ms < hastyMs * 1.05 + 20)) {
      up(0).next(reply.hang());
      const startMs = hasty.clock.monotonic();
      const metadata = assertError(await hastyChat({ model: 'test/echo', stream }), 408, 'timeout');
      tookMs.push(hasty.clock.monotonic() - startMs);
      assert.equal(metadata['timeout_sec'], 0.3);
    }
    assert.ok(
      Math.min(...tookMs) >= hastyMs - 2 && Math.min(...tookMs) < scaledLimit(hastyMs * 1.05 + 20),
      `${tookMs} ms`,
    );
  }
});

// spec:conformance/255 spec:errors/8
test('all candidates together share one limit', async () => {
  up(0).next(reply.hang());
  const startMs = hasty.clock.monotonic();
  const tried = await attemptsOf(
    async () => void assertError(await hastyChat({ model: 'test/three' }), 408, 'timeout'),
  );
  assert.ok(hasty.clock.monotonic() - startMs < scaledLimit(600));
  assert.deepEqual(tried, [1, 0, 0]);
});

// spec:conformance/229,230 spec:api/13.1
test('a candidate whose context is too small is never tried; with none left, a 404 names the models', async () => {
  const wordsChunk = (count: number): object => ({
    model: 'test/small',
    messages: [{ role: 'user', content: '나루 '.repeat(count) }],
  });
  const fits = await attemptsOf(async () => {
    const response = await chat(wordsChunk(1500));
    assert.equal(response.status, 200, response.text);
    assert.equal(response.headers.get('x-service-provider'), 'up2');
  });
  assert.deepEqual(fits, [0, 1, 0]);
  const none = await attemptsOf(async () => {
    const metadata = assertError(
      await chat({ ...wordsChunk(20_000), models: ['test/small', 'test/echo'].slice(0, 1) }),
      404,
      'no_endpoints_found',
    );
    assert.deepEqual(metadata['models'], ['test/small']);
  });
  assert.deepEqual(none, [0, 0, 0]);
});

// spec:conformance/220,230 spec:api/13.1
test('an image request drops candidates without image input', async () => {
  const image = [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }] },
  ];
  const tried = await attemptsOf(async () => {
    const metadata = assertError(
      await chat({ models: ['test/echo', 'test/other'], messages: image }),
      404,
      'no_endpoints_found',
    );
    assert.deepEqual(metadata['models'], ['test/echo', 'test/other']);
  });
  assert.deepEqual(tried, [0, 0, 0]);
});

// spec:api/12.8
test('a request for images or speech has no candidate, one for text has', async () => {
  const text = [{ modalities: ['text'] }, { modalities: [], audio: null, image_config: {} }];
  for (const body of text) assert.equal((await chat({ model: 'test/echo', ...body })).status, 200);
  const media = [
    { modalities: ['image', 'text'] },
    { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } },
    { audio: { voice: 'alloy', format: 'wav' } },
    { image_config: { aspect_ratio: '1:1' }, stream: true },
  ];
  const tried = await attemptsOf(async () => {
    for (const body of media) {
      const response = await chat({ model: 'test/echo', ...body });
      assertError(response, 404, 'no_endpoints_found');
      assert.match(response.json.error.message, /images and speech/);
    }
    for (const body of [
      { modalities: 'image' },
      { modalities: [1] },
      { audio: 'alloy' },
      { image_config: 1 },
    ])
      assertError(await chat({ model: 'test/echo', ...body }), 400, 'invalid_request');
  });
  assert.deepEqual(tried, [0, 0, 0]);
});

// spec:conformance/20
test('an internal failure returns a 500 without its cause; the log has it', async () => {
  const { settlements } = naru.gateway;
  const own = settlements.settle;
  settlements.settle = () => Promise.reject(new Error('disk /var/lib/secret is full at 10.1.2.3'));
  let response: TestResponse;
  try {
    response = await chat({ model: 'test/echo' });
  } finally {
    settlements.settle = own;
  }
  assertError(response, 500, 'server');
  assert.doesNotMatch(response.text, /secret|10\.1\.2\.3|\.ts|Error:/);
  assert.ok(
    naru.logged.some(
      (line) =>
        line['event'] === 'internal_error' &&
        line['request_id'] === response.headers.get('x-service-request-id'),
    ),
  );
});

// spec:conformance/2,7,8,9,10,11,190,227,228
test('every failure after identification is recorded at zero cost, and moves no money', async () => {
  const own = await naru.account({ credit: '1000000' });
  await chat({ model: 'test/echo' }, own.key);
  const small = 'x '.repeat(40_000);
  await assertRecordedFree(naru, own, [
    ['400 invalid_request', () => naru.send('POST', '/chat/completions', { key: own.key, body: '{bad' })],
    ['400 model_not_found', () => chat({ model: 'no/such' }, own.key)],
    [
      '404 no_endpoints_found',
      () => chat({ model: 'test/small', messages: [{ role: 'user', content: small }] }, own.key),
    ],
    [
      '502 provider_error',
      () => {
        up(0).next(reply.status(500));
        return chat({ model: 'test/echo' }, own.key);
      },
    ],
  ]);
  const { records } = await ledgerOf(naru, own);
  assert.deepEqual(
    records.slice(1).map(({ error_message: said }) => /JSON|no\/such|context length|failed/.exec(said)?.[0]),
    ['JSON', 'no/such', 'context length', 'failed'],
    'a record says what the client was told',
  );
  const record = records.at(-1);
  assert.equal(
    (await naru.send('GET', `/generation?id=${record.id}`, { key: own.key })).json.data.total_cost,
    0,
  );
});

// spec:conformance/2,190,227
test('a timeout is recorded at zero cost, and moves no money', async () => {
  const own = await hasty.account({ credit: '1000000' });
  const silent = (): Promise<TestResponse> => {
    up(0).next(reply.hang());
    return hastyChat({ model: 'test/echo' }, own.key);
  };
  await assertRecordedFree(hasty, own, [['408 timeout', silent]]);
});

/** Each request fails as named, with a record of zero cost as its only trace in the ledger. */
async function assertRecordedFree(
  gateway: TestGateway,
  own: TestAccount,
  failures: readonly (readonly [string, () => Promise<TestResponse>])[],
): Promise<void> {
  const before = await ledgerOf(gateway, own);
  for (const [pair, fail] of failures) {
    const [status, type] = pair.split(' ');
    const response = await fail();
    assertError(response, Number(status), type ?? '');
    const now = await ledgerOf(gateway, own);
    const record = now.records.at(-1);
    assert.equal(`${record.status} ${record.error_type}`, pair);
    assert.equal(record.cost_krw, '0.000000');
    assert.equal(record.request_id, response.headers.get('x-service-request-id'));
    assert.deepEqual({ ...now, records: [] }, { ...before, records: [] });
  }
  assert.equal((await ledgerOf(gateway, own)).records.length, before.records.length + failures.length);
}

/**
 * The ledger of an account once it has this many records: those of rejections are written a second
 * after they began.
 */
async function ledgerWith(account: TestAccount, count: number): ReturnType<typeof ledgerOf> {
  const isThere = async (): Promise<boolean> => (await ledgerOf(naru, account)).records.length >= count;
  await until(`${count} records`, isThere, 10_000);
  return ledgerOf(naru, account);
}

// spec:conformance/227,228
test('rejections for the balance and for the key limit are recorded too, at zero cost', async () => {
  const own = await naru.account({ credit: '10' });
  const capped = await own.another({ limit: '0' });
  assertError(await chat({ model: 'test/echo' }, capped.key), 402, 'key_limit_exceeded');
  up(0).next(reply.chat('hello there', { usage: usage(10, 5) }));
  assert.equal((await chat({ model: 'test/echo' }, own.key)).status, 200);
  assertError(await chat({ model: 'test/echo' }, own.key), 402, 'insufficient_credits');
  const { records, debits } = await ledgerWith(own, 3);
  assert.deepEqual(
    records.map((record) => record.error_type).sort(),
    ['insufficient_credits', 'key_limit_exceeded', null].sort(),
  );
  assert.deepEqual(debits, ['20.000000']);
});

// spec:conformance/227
test('a caller with an unknown key or without a key leaves no record', async () => {
  const own = await naru.account();
  await chat({ model: 'test/echo' }, `sk-naru-v1-${'0'.repeat(64)}`);
  await naru.send('POST', '/chat/completions', { body: { model: 'test/echo', messages } });
  assert.deepEqual((await ledgerOf(naru, own)).records, []);
});

// spec:conformance/14
test("an upstream's Retry-After is not passed on", async () => {
  up(0).next(reply.status(503, undefined, { 'retry-after': '99' }));
  assertError(await chat({ model: 'test/echo' }), 502, 'provider_error');
});

// spec:conformance/13,223,254,227,228 spec:errors/10
test('an engine that is starting returns a 503 with Retry-After, free of charge', async () => {
  const engine = fileURLToPath(new URL('../harness/fake-engine.ts', import.meta.url));
  const loading = await startTestGateway({
    models: [{ id: 'test/local', upstreams: [], model: { candidates: [{ slot: 'local-a' }] } }],
    config: {
      limits: { cold_wait_ms: 0 },
      slots: [
        {
          name: 'local-a',
          command: [process.execPath, engine, 'engine', '{port}', '{"delayMs":60000}'],
          start_budget_ms: 30_000,
        },
      ],
    },
  });
  try {
    const own = await loading.account();
    for (const stream of [false, true]) {
      const response = await loading.send('POST', '/chat/completions', {
        key: own.key,
        body: { model: 'test/local', messages, stream },
      });
      assert.ok(Number(assertError(response, 503, 'model_loading')['retry_after_sec']) >= 1);
    }
    const { debits, records } = await ledgerOf(loading, own);
    assert.deepEqual(debits, []);
    assert.deepEqual(
      records.map((record) => record.error_type),
      ['model_loading', 'model_loading'],
    );
  } finally {
    await loading.close();
  }
});

// spec:errors/10.3
test('an engine that cannot start leaves the chain: the next candidate responds, and without one it is 502', async () => {
  const slot = { slot: 'local-a' };
  const broken = await startTestGateway({
    models: [
      { id: 'test/local', upstreams: [], model: { candidates: [slot] } },
      {
        id: 'test/both',
        upstreams: ['http://127.0.0.1:1/v1', up(0).url],
        candidates: [{ provider: undefined, model: undefined, ...slot }],
      },
    ],
    config: { slots: [{ name: 'local-a', command: ['naru-no-such-engine', '{port}'] }] },
  });
  try {
    const own = await broken.account({ credit: '1000000' });
    for (let starts = 1; starts <= 5; starts += 1) {
      broken.gateway.slots.start('local-a');
      await until(`start ${starts} fails`, () => {
        const { state, starts: count } = broken.gateway.slots.status('local-a');
        return count === starts && ['BACKOFF', 'FAILED'].includes(state);
      });
    }
    const send = (model: string) =>
      broken.send('POST', '/chat/completions', { key: own.key, body: { model, messages } });
    const response = await send('test/local');
    assert.equal(assertError(response, 502, 'provider_error')['provider_code'], null);
    assert.match(response.text, /engine of this model does not start/);
    const { records, debits } = await ledgerOf(broken, own);
    assert.deepEqual([records.map((record) => record.error_type), debits], [['provider_error'], []]);
    assertChatResponse((await send('test/both')).json);
  } finally {
    await broken.close();
  }
});

test('an engine with an API key gets it with every call, and the client and the log never see it', async () => {
  const { host } = new URL(up(0).url);
  const keyed = await startTestGateway({
    models: [{ id: 'test/local', upstreams: [], model: { candidates: [{ slot: 'keyed' }] } }],
    config: {
      slots: [
        {
          name: 'keyed',
          external: { base_url: `http://${host}`, health_path: '/v1/models' },
          api_key: 'engine-key',
        },
      ],
    },
  });
  try {
    const own = await keyed.account({ credit: '1000000' });
    const body = { model: 'test/local', messages };
    const response = await keyed.send('POST', '/chat/completions', { key: own.key, body });
    assertChatResponse(response.json);
    assert.equal(up(0).requests.at(-1)?.header('authorization'), 'Bearer engine-key');
    up(0).next(reply.status(400, { error: { message: 'the key engine-key is not welcome' } }));
    const refused = await keyed.send('POST', '/chat/completions', { key: own.key, body });
    assert.equal(refused.status, 502);
    assert.doesNotMatch(`${refused.text} ${JSON.stringify(keyed.logged)}`, /engine-key/);
  } finally {
    await keyed.close();
  }
});
