/** The catalogue as everyone sees it (spec:api/11 spec:compat/7,8). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startBehindCutter } from '../chaos/gateway-behind-cutter.ts';
import {
  startTestGateway,
  type TestAccount,
  type TestGateway,
  type TestResponse,
} from '../harness/gateway.ts';
import { assertCommonHeaders, assertError } from '../harness/response-rules.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

let fast: Upstream;
let slow: Upstream;
let naru: TestGateway;
let account: TestAccount;

before(async () => {
  [fast, slow] = [await startUpstream(), await startUpstream()];
  const external = { base_url: 'http://127.0.0.1:9' };
  naru = await startTestGateway({
    models: [
      {
        id: 'acme/small',
        upstreams: [fast.url],
        model: {
          context_length: 8000,
          max_completion_tokens: 1000,
          created: '2026-11-01',
          price: { prompt: 100, completion: 300, currency: 'KRW', per: '1M' },
          supported_parameters: ['temperature', 'tools', 'tool_choice', 'modalities'],
          tokenizer: 'Qwen3',
          description: '작은 모델',
          knowledge_cutoff: '2025-06-30',
          hugging_face_id: 'acme/Small-1B',
          default_parameters: { temperature: 0.7, top_p: 0.9 },
        },
        candidates: [{ quantization: 'int4', zdr: true, distillable: true }],
      },
      {
        id: 'acme/vision',
        upstreams: [slow.url, fast.url],
        model: {
          context_length: 128_000,
          created: '2026-10-01',
          input_modalities: ['text', 'image'],
          price: {
            prompt: '0.0000005',
            completion: '0.000002',
            request: 1.5,
            cache_read: '0.0000001',
            currency: 'KRW',
            per: 'token',
          },
          supported_parameters: ['temperature', 'seed'],
        },
        candidates: [
          {},
          {
            price: { prompt: 2, completion: 4, currency: 'KRW', per: '1M' },
            context_length: 64_000,
            max_completion_tokens: 500,
          },
        ],
      },
      { id: 'zeta/plain', upstreams: [slow.url], model: { created: '2026-01-01', name: 'Zeta: 한글' } },
      {
        id: 'zeta/painter',
        upstreams: [slow.url],
        model: { output_modalities: ['image'], context_length: 100 },
      },
      ...['a', 'b'].map((name) => ({
        id: `local/${name}`,
        upstreams: [],
        model: {
          max_completion_tokens: 32_768,
          candidates: [{ slot: `local-${name}` }],
          created: '2026-02-01',
        },
      })),
    ],
    config: { slots: ['local-a', 'local-b'].map((name) => ({ name, external })) as never },
  });
  naru.clock.set('2026-11-21T00:00:00Z');
  account = await naru.account({ credit: '1000000' });
});
after(async () => {
  await naru?.close();
  await fast?.close();
  await slow?.close();
});

const list = (query = ''): Promise<TestResponse> => naru.send('GET', `/models${query}`);

async function idsOf(query: string): Promise<readonly string[]> {
  const response = await list(query);
  assert.equal(response.status, 200, response.text);
  return response.json.data.map((model: { id: string }) => model.id);
}

const chat = (model: string, more: object = {}): Promise<TestResponse> =>
  naru.send('POST', '/chat/completions', {
    key: account.key,
    body: { model, messages: [{ role: 'user', content: 'hi' }], ...more },
  });

// biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies as a client would.
async function endpointsOf(model: string): Promise<any[]> {
  return (await naru.send('GET', `/models/${model}/endpoints`)).json.data.endpoints;
}

const texts = ['acme/small', 'acme/vision', 'zeta/plain', 'local/a', 'local/b'];
const isPrice = (value: unknown): boolean => typeof value === 'string' && /^\d+(\.\d{1,12})?$/.test(value);

function assertPricing(pricing: Record<string, unknown>): void {
  const { currency, discount, ...rates } = pricing;
  assert.equal(currency, 'KRW');
  for (const name of [
    'prompt',
    'completion',
    'request',
    'image',
    'web_search',
    'internal_reasoning',
    'input_cache_read',
    'input_cache_write',
  ])
    assert.ok(name in rates, name);
  for (const [name, rate] of Object.entries(rates)) assert.ok(isPrice(rate), `${name}: ${rate}`);
}

function assertArchitecture(architecture: Record<string, unknown>): void {
  assert.match(String(architecture['modality']), /^[a-z+]+->[a-z+]+$/);
  for (const name of ['input_modalities', 'output_modalities']) assert.ok(Array.isArray(architecture[name]));
  assert.equal(typeof architecture['tokenizer'], 'string');
  assert.equal(architecture['instruct_type'], null);
}

// spec:conformance/6,24 spec:compat/7.2
test('a listed model has every member that a client requires', async () => {
  const { data, total_count, links } = (await list('?output_modalities=all')).json;
  assert.equal(total_count, 6);
  assert.deepEqual(links, { next: null });
  for (const model of data) {
    for (const name of ['id', 'canonical_slug', 'name', 'description'])
      assert.equal(typeof model[name], 'string', name);
    assert.ok(Number.isInteger(model.created) && model.created > 1e9 && model.created < 1e10);
    assert.ok(Number.isInteger(model.context_length));
    assertArchitecture(model.architecture);
    assertPricing(model.pricing);
    assert.equal(typeof model.top_provider.is_moderated, 'boolean');
    assert.ok(
      Number.isInteger(model.top_provider.context_length) &&
        Number.isInteger(model.top_provider.max_completion_tokens),
    );
    assert.ok(model.supported_parameters.length > 0);
    // Generation of media is not offered (spec:api/12.8), whatever a row states.
    for (const name of ['modalities', 'image_config', 'audio'])
      assert.ok(!model.supported_parameters.includes(name), `${model.id}: ${name}`);
    for (const name of [
      'per_request_limits',
      'default_parameters',
      'supported_voices',
      'expiration_date',
      'knowledge_cutoff',
      'hugging_face_id',
    ])
      assert.ok(name in model, name);
    assert.deepEqual(model.links, { details: `/api/v1/models/${model.id}/endpoints` });
  }
  const [small, vision] = data;
  assert.deepEqual(
    [
      small.pricing.prompt,
      small.pricing.completion,
      vision.pricing.prompt,
      vision.pricing.request,
      vision.pricing.input_cache_read,
      vision.pricing.input_cache_write,
    ],
    ['0.0001', '0.0003', '0.0000005', '1.5', '0.0000001', '0.0000005'],
  );
  assert.deepEqual(small.default_parameters, {
    temperature: 0.7,
    top_p: 0.9,
    top_k: null,
    frequency_penalty: null,
    presence_penalty: null,
    repetition_penalty: null,
  });
  assert.deepEqual(
    [small.knowledge_cutoff, small.hugging_face_id, small.description],
    ['2025-06-30', 'acme/Small-1B', '작은 모델'],
  );
  assert.equal(vision.architecture.modality, 'text+image->text');
});

// spec:conformance/253
test('two local models state their context and output limits', async () => {
  for (const model of (await list('?model_authors=local')).json.data) {
    assert.equal(model.context_length, 32_768);
    assert.equal(model.top_provider.max_completion_tokens, 32_768);
  }
  assert.equal((await idsOf('?model_authors=local')).length, 2);
});

// spec:conformance/24,25
test('the catalogue is public, whatever Authorization contains', async () => {
  for (const path of ['/models', '/models/count', '/models/acme/small/endpoints']) {
    for (const authorization of [
      undefined,
      'malformed',
      'Bearer ',
      'Bearer sk-naru-v1-nobody',
      'Basic eDp4',
    ]) {
      const response = await naru.send(
        'GET',
        path,
        authorization === undefined ? {} : { headers: { authorization } },
      );
      assert.equal(response.status, 200, path);
      assertCommonHeaders(response);
    }
  }
});

test('filters keep the matching models in configuration order', async () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['', texts],
    ['?q=ACME', ['acme/small', 'acme/vision']],
    ['?q=', texts],
    ['?q=%EB%82%98%EB%A3%A8', []],
    [`?q=${encodeURIComponent('한글')}`, ['zeta/plain']],
    [`?q=${encodeURIComponent('한글'.normalize('NFD'))}`, ['zeta/plain']],
    ['?input_modalities=image', ['acme/vision']],
    ['?input_modalities=text,%20image', ['acme/vision']],
    ['?input_modalities=text', texts],
    ['?output_modalities=image', ['zeta/painter']],
    [
      '?output_modalities=image,text',
      ['acme/small', 'acme/vision', 'zeta/plain', 'zeta/painter', 'local/a', 'local/b'],
    ],
    ['?output_modalities=audio', []],
    ['?supported_parameters=temperature', texts],
    ['?supported_parameters=temperature,tools', ['acme/small', 'zeta/plain', 'local/a', 'local/b']],
    ['?supported_parameters=seed', ['acme/vision', 'zeta/plain', 'local/a', 'local/b']],
    ['?supported_parameters=warp', []],
    ['?context=32769', ['acme/vision']],
    ['?context=32768', ['acme/vision', 'zeta/plain', 'local/a', 'local/b']],
    // Won per million tokens: small costs 100 and 300, vision 0.5 and 2, the others a million and
    // two.
    ['?max_price=100', ['acme/small', 'acme/vision']],
    ['?max_price=99.999999', ['acme/vision']],
    ['?min_price=0.5&max_price=0.5', ['acme/vision']],
    ['?min_price=1e6', ['zeta/plain', 'local/a', 'local/b']],
    ['?max_output_price=300&min_output_price=2.1', ['acme/small']],
    ['?min_age_days=20', ['acme/small', 'acme/vision', 'zeta/plain', 'local/a', 'local/b']],
    ['?min_age_days=21&max_age_days=60', ['acme/vision']],
    ['?max_age_days=20', ['acme/small']],
    ['?arch=qwen3', ['acme/small']],
    ['?arch=Other', ['acme/vision', 'zeta/plain', 'local/a', 'local/b']],
    ['?model_authors=zeta,local', ['zeta/plain', 'local/a', 'local/b']],
    ['?providers=up1', ['acme/small', 'acme/vision']],
    ['?providers=Upstream%202', ['acme/vision', 'zeta/plain']],
    ['?providers=naru', ['local/a', 'local/b']],
    ['?zdr=true', ['acme/small', 'local/a', 'local/b']],
    ['?zdr=false', texts],
    ['?distillable=true', ['acme/small']],
    ['?distillable=false', texts],
    ['?region=eu', []],
    ['?category=programming&use_rss=true&min_coding_index=50&unknown=1&Q=x', texts],
    ['?q=acme&q=zeta', ['acme/small', 'acme/vision']],
  ];
  for (const [query, ids] of cases) assert.deepEqual(await idsOf(query), ids, query);
});

test('a malformed value of a known parameter is rejected on every listing', async () => {
  const malformed = [
    ...[
      'limit=0',
      'limit=1001',
      'limit=-1',
      'limit=1.5',
      'limit=x',
      'limit=',
      'offset=-1',
      'offset=1.5',
      'offset=x',
      'offset=',
    ],
    ...[
      'context=0',
      'context=x',
      'context=-5',
      'min_price=-1',
      'max_price=x',
      'min_output_price=',
      'max_output_price=NaN',
      'max_price=Infinity',
    ],
    ...[
      'min_age_days=-1',
      'max_age_days=1.5',
      'input_modalities=smell',
      'output_modalities=text,smell',
      'sort=best',
      'sort=',
    ],
    ...['zdr=yes', 'distillable=1', 'region=kr'],
  ];
  for (const query of malformed) assertError(await list(`?${query}`), 400, 'invalid_request');
  assertError(await naru.send('GET', '/models/count?output_modalities=smell'), 400, 'invalid_request');
  assertError(await naru.send('GET', '/models/user?limit=0', { key: account.key }), 400, 'invalid_request');
});

test('sort orders are those of OpenRouter, and models without measurements keep configuration order', async () => {
  assert.deepEqual(await idsOf('?sort=newest'), [
    'acme/small',
    'acme/vision',
    'local/a',
    'local/b',
    'zeta/plain',
  ]);
  assert.deepEqual(await idsOf('?sort=pricing-low-to-high'), [
    'acme/vision',
    'acme/small',
    'zeta/plain',
    'local/a',
    'local/b',
  ]);
  assert.deepEqual(await idsOf('?sort=pricing-high-to-low'), [
    'zeta/plain',
    'local/a',
    'local/b',
    'acme/small',
    'acme/vision',
  ]);
  assert.deepEqual(await idsOf('?sort=context-high-to-low'), [
    'acme/vision',
    'zeta/plain',
    'local/a',
    'local/b',
    'acme/small',
  ]);
  for (const sort of ['most-popular', 'top-weekly', 'coding-high-to-low'])
    assert.deepEqual(await idsOf(`?sort=${sort}`), texts);
});

test('pages have every model once, and the next link keeps the query', async () => {
  const seen: string[] = [];
  let next: string | null = '/api/v1/models?limit=2&sort=newest&supported_parameters=&q=%2F';
  for (let pages = 0; next !== null; pages += 1) {
    assert.ok(pages < 5);
    const { json } = await naru.send('GET', next.replace('/api/v1', ''));
    seen.push(...json.data.map((model: { id: string }) => model.id));
    assert.equal(json.total_count, 5);
    next = json.links.next;
    if (next !== null) assert.match(next, /^\/api\/v1\/models\?.*sort=newest.*q=%2F/);
  }
  assert.deepEqual(seen, await idsOf('?sort=newest'));
  assert.deepEqual(await idsOf('?offset=3'), texts.slice(3));
  assert.deepEqual(await idsOf('?offset=99'), []);
  assert.deepEqual(await idsOf('?limit=1000'), texts);
});

test('the count equals the listing', async () => {
  for (const query of ['', '?output_modalities=all', '?output_modalities=image', '?q=acme']) {
    const { data } = (await naru.send('GET', `/models/count${query}`)).json;
    assert.deepEqual(data, { count: (await idsOf(query)).length });
  }
});

// spec:conformance/28
test('the models of a key are the listing, for an inference key only', async () => {
  const management = await account.another({ kind: 'management' });
  for (const key of [undefined, 'malformed', management.key])
    assertError(
      await naru.send('GET', '/models/user', key === undefined ? {} : { key }),
      401,
      'invalid_api_key',
    );
  assert.deepEqual((await naru.send('GET', '/models/user', { key: account.key })).json, (await list()).json);
  const page = await naru.send('GET', '/models/user?limit=2&offset=2', { key: account.key });
  assert.equal(page.json.data.length, 2);
  assert.equal(page.json.links.next, '/api/v1/models/user?limit=2&offset=4');
});

test('an unknown model has no endpoints, and its 404 names no path', async () => {
  for (const id of [
    'acme/none',
    'none/small',
    'ACME/small',
    'acme/small:free',
    'acme/small%20',
    '%00/x',
    '%ff/%ff',
    '__proto__/constructor',
  ]) {
    const metadata = assertError(await naru.send('GET', `/models/${id}/endpoints`), 404, 'not_supported');
    assert.deepEqual(Object.keys(metadata), ['error_type'], id);
  }
  for (const path of [
    '/models/acme/small',
    '/models/acme/small/endpoints/x',
    '/models/acme//endpoints',
    '/models/acme',
  ])
    assert.equal(assertError(await naru.send('GET', path), 404, 'not_supported')['path'], `/api/v1${path}`);
  assert.equal((await naru.send('GET', '/models/%61cme/small/endpoints')).status, 200);
});

// spec:compat/8.1
test('an endpoint has every member that a client requires, and its own prices and limits', async () => {
  const { data } = (await naru.send('GET', '/models/acme/vision/endpoints')).json;
  for (const name of ['id', 'name', 'description']) assert.equal(typeof data[name], 'string');
  assert.ok(Number.isInteger(data.created));
  assertArchitecture(data.architecture);
  assert.equal(data.endpoints.length, 2);
  for (const endpoint of data.endpoints) {
    for (const name of ['name', 'model_id', 'model_name', 'provider_name', 'tag'])
      assert.equal(typeof endpoint[name], 'string', name);
    assert.ok(Number.isInteger(endpoint.context_length) && Number.isInteger(endpoint.max_completion_tokens));
    assert.equal(endpoint.max_prompt_tokens, null);
    assertPricing(endpoint.pricing);
    assert.equal(endpoint.pricing.discount, 0);
    assert.ok('quantization' in endpoint);
    assert.ok(endpoint.supported_parameters.length > 0);
    assert.equal(endpoint.status, 0);
    for (const name of [
      'uptime_last_5m',
      'uptime_last_30m',
      'uptime_last_1d',
      'latency_last_30m',
      'throughput_last_30m',
    ])
      assert.equal(endpoint[name], null, `${name} before any traffic`);
    assert.equal(typeof endpoint.supports_implicit_caching, 'boolean');
    assert.deepEqual(Object.keys(endpoint.supports_tool_choice).toSorted(), [
      'auto',
      'function',
      'none',
      'required',
    ]);
    for (const value of Object.values(endpoint.supports_tool_choice)) assert.equal(value, false);
  }
  const [own, other] = data.endpoints;
  assert.deepEqual([own.tag, own.context_length, own.pricing.prompt], ['up2', 128_000, '0.0000005']);
  assert.deepEqual(
    [other.tag, other.context_length, other.max_completion_tokens, other.pricing.prompt],
    ['up1', 64_000, 500, '0.000002'],
  );
  const [small] = await endpointsOf('acme/small');
  assert.equal(small.quantization, 'int4');
  assert.equal(small.supports_tool_choice.auto, true);
  const [local] = await endpointsOf('local/a');
  assert.equal(local.tag, 'naru/local-a');
});

test("an endpoint's uptime, time to first token and throughput are measured on real responses", async () => {
  // zeta/plain uses the slow upstream, acme/small the fast one.
  const tokens = usage(1, 100);
  for (let n = 0; n < 3; n += 1) {
    fast.next(reply.stream(['fast', ' words'], { usage: tokens }));
    const beganMs = performance.now();
    await chat('acme/small', { stream: true });
    // Slower than the fast one also on a busy machine.
    const waitMs = Math.max(60, 2 * (performance.now() - beganMs));
    slow.next(reply.stream([{ waitMs }, 'slow', { waitMs }, ' words'], { usage: tokens }));
    await chat('zeta/plain', { stream: true });
  }
  const [plain] = await endpointsOf('zeta/plain');
  const [small] = await endpointsOf('acme/small');
  for (const endpoint of [plain, small]) {
    assert.deepEqual(
      [endpoint.uptime_last_5m, endpoint.uptime_last_30m, endpoint.uptime_last_1d, endpoint.status],
      [100, 100, 100, 0],
    );
    for (const name of ['latency_last_30m', 'throughput_last_30m']) {
      assert.deepEqual(Object.keys(endpoint[name]), ['p50', 'p75', 'p90', 'p99']);
      for (const value of Object.values(endpoint[name])) assert.ok(typeof value === 'number' && value > 0);
    }
    assert.ok(endpoint.latency_last_30m.p50 <= endpoint.latency_last_30m.p99);
    assert.ok(endpoint.throughput_last_30m.p50 >= endpoint.throughput_last_30m.p99);
  }
  assert.ok(plain.latency_last_30m.p50 >= 55, `${plain.latency_last_30m.p50} ms`);
  assert.ok(small.latency_last_30m.p50 < plain.latency_last_30m.p50);
  assert.ok(plain.throughput_last_30m.p50 < 100 / 0.115, `${plain.throughput_last_30m.p50} tokens/s`);
  assert.ok(small.throughput_last_30m.p50 > plain.throughput_last_30m.p50);
  assert.deepEqual((await idsOf('?sort=throughput-high-to-low')).slice(0, 2), ['acme/small', 'zeta/plain']);
  assert.deepEqual((await idsOf('?sort=latency-low-to-high')).slice(0, 2), ['acme/small', 'zeta/plain']);
});

test('failures lower the uptime of the candidate that failed; rate limits and bad requests do not', async () => {
  const [before] = await endpointsOf('acme/vision');
  assert.equal(before.uptime_last_5m, null, 'the same upstream by another name is another candidate');
  for (const failure of [
    reply.status(500),
    reply.drop(),
    reply.stream(['half'], { finish: null, done: false }).thenClose('rst'),
  ]) {
    slow.next(failure);
    await chat('acme/vision', { stream: true });
  }
  // After that many failures it would be tried only when no other candidate is left.
  const provider = { only: [before.tag] };
  for (const status of [429, 400]) {
    slow.next(reply.status(status));
    await chat('acme/vision', { provider });
  }
  slow.next(reply.chat('whole'));
  assert.equal((await chat('acme/vision', { provider })).status, 200);
  const [failing, fallback] = await endpointsOf('acme/vision');
  assert.deepEqual([failing.uptime_last_5m, failing.uptime_last_1d, failing.status], [25, 25, -1]);
  assert.deepEqual([fallback.uptime_last_5m, fallback.status], [100, 0]);
  assert.ok(failing.throughput_last_30m.p50 > 0);
});

// spec:errors/11.2
test('the catalogue responds while the database is unavailable', async (t) => {
  const { naru: cut, cutter } = await startBehindCutter(t);
  cutter.down();
  for (const path of ['/models', '/models/count', '/models/test/echo/endpoints', '/providers'])
    assert.equal((await cut.send('GET', path)).status, 200, path);
});
