import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway, testPrice } from '../harness/gateway.ts';
import { piece, reply, startUpstream, type Upstream } from '../harness/upstream.ts';

/** An external engine: Naru queues for its one lane. */
let engine: Upstream;
let naru: TestGateway;

before(async () => {
  engine = await startUpstream();
  engine.respond((received) =>
    received.path.startsWith('/v1/chat') ? reply.chat('한 줄') : reply.json({ data: [] }),
  );
  const origin = engine.url.replace(/\/v1$/, '');
  naru = await startTestGateway({
    config: {
      slots: [
        { name: 'lane', external: { base_url: origin, health_path: '/v1/models' }, max_concurrency: 1 },
      ],
      models: [
        {
          id: 'test/local',
          name: 'Test: local',
          context_length: 32_768,
          max_completion_tokens: 32_768,
          price: testPrice,
          candidates: [{ slot: 'lane' }],
        },
      ],
    } as unknown as Record<string, object>,
  });
});
after(async () => {
  await naru?.close();
  await engine?.close();
});

// spec:conformance/252
test('200 concurrent requests to a slot of one lane all succeed in sequence, on a balance for ten of them', async () => {
  // At its estimate of 1,024 completion tokens a request costs about 2,060 won, at its true size
  // 20.
  const { key } = await naru.account({ credit: '21000' });
  const body = { model: 'test/local', messages: [{ role: 'user', content: '안녕' }] };
  const responses = await Promise.all(
    Array.from({ length: 200 }, () => naru.send('POST', '/chat/completions', { key, body })),
  );
  assert.deepEqual([...new Set(responses.map((response) => response.status))], [200]);
  assert.equal(
    new Set(responses.map((response) => response.headers.get('x-service-generation-id'))).size,
    200,
  );
  assert.equal(responses[0]?.headers.get('x-service-provider'), 'naru/lane');
  assert.ok(engine.connections < 20, `one lane needs few connections, not ${engine.connections}`);
  await naru.settled();
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
});

// spec:api/11.7
test('an own slot has one name everywhere: the provider Naru, the endpoint naru/<slot>', async () => {
  const { key } = await naru.account({ credit: '1000000' });
  const messages = [{ role: 'user', content: '안녕' }];
  const send = (provider: object, stream = false) =>
    naru.send('POST', '/chat/completions', {
      key,
      body: { model: 'test/local', messages, provider, stream },
    });
  const { data: providers } = (await naru.send('GET', '/providers')).json;
  assert.deepEqual(
    providers.map((one: { slug: string; name: string }) => [one.slug, one.name]),
    [['naru', 'Naru']],
  );
  const [endpoint] = (await naru.send('GET', '/models/test/local/endpoints')).json.data.endpoints;
  assert.deepEqual(
    [endpoint.provider_name, endpoint.tag, endpoint.name],
    ['Naru', 'naru/lane', 'Naru | test/local'],
  );
  for (const name of ['naru', 'Naru', 'naru/lane', 'NARU/Lane'])
    for (const provider of [{ only: [name] }, { order: [name], allow_fallbacks: false }]) {
      const response = await send(provider);
      assert.equal(response.status, 200, `${JSON.stringify(provider)} ${response.text}`);
      assert.equal(response.headers.get('x-service-provider'), 'naru/lane');
      assert.equal(response.json.provider, 'Naru');
      const id = response.headers.get('x-service-generation-id');
      const record = (await naru.send('GET', `/generation?id=${id}`, { key })).json.data;
      assert.equal(record.provider_name, 'Naru');
      assert.equal(record.provider_responses[0].provider_name, 'Naru');
    }
  const streamed = await send({ only: ['naru'] }, true);
  assert.equal(streamed.headers.get('x-service-provider'), 'naru/lane');
  assert.match(streamed.text, /"provider":"Naru"/);
  for (const provider of [{ ignore: ['naru'] }, { ignore: ['naru/lane'] }, { only: ['naru/other'] }])
    assert.equal((await send(provider)).status, 404, JSON.stringify(provider));
  for (const name of ['naru', 'naru/lane'])
    assert.equal(
      (await naru.send('GET', `/models?providers=${encodeURIComponent(name)}`)).json.data.length,
      1,
      name,
    );
});

test('an engine gets names of tools that it accepts, and the client its own', async () => {
  const { key } = await naru.account({ credit: '1000000' });
  engine.respond((received) => {
    if (!received.path.startsWith('/v1/chat')) return reply.json({ data: [] });
    const tools = received.body['tools'] as readonly { readonly function: { readonly name: string } }[];
    const name = tools[0]?.function.name;
    return name !== undefined && /^[\w-]{1,64}$/.test(name)
      ? reply.chat(piece.tool(0, name, '{}'), { finish: 'tool_calls' })
      : reply.status(400);
  });
  for (const name of ['f'.repeat(200), 'dev.server', '날씨']) {
    const body = {
      model: 'test/local',
      messages: [{ role: 'user', content: '안녕' }],
      tools: [{ type: 'function', function: { name } }],
      tool_choice: { type: 'function', function: { name } },
      stream: true,
    };
    const response = await naru.send('POST', '/chat/completions', { key, body });
    assert.equal(response.status, 200, response.text);
    assert.ok(response.text.includes(JSON.stringify(name)), response.text);
  }
});
