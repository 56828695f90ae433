/**
 * Every API of the OpenAI dialect gets exactly what it accepts: each row of the rules against an
 * equally strict upstream.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { providerVariants, type Variant } from '../../src/config/variants.ts';
import { acceptedParameters } from '../../src/dialects/accepted-parameters.ts';
import type { Destination, ParameterChange } from '../../src/dialects/dialect.ts';
import { openaiDialect } from '../../src/dialects/openai/index.ts';
import { providers, rulesOf, variantOfUrl } from '../../src/dialects/openai/providers.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { parametersOf } from '../../src/wire/parameters.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import { type StrictUpstream, strictUpstreams } from './strict-upstreams.ts';

type Json = Readonly<Record<string, unknown>>;

const weather = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };
const schema = { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } };
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** Values of every known parameter that upstreams disagree on, the harmless ones first. */
const samples: Readonly<Record<string, readonly unknown[]>> = {
  max_tokens: [100],
  max_completion_tokens: [100],
  temperature: [1, 0, 0.7],
  top_p: [1, 0.5],
  top_k: [40],
  min_p: [0.1],
  top_a: [0.1],
  frequency_penalty: [0, 0.5],
  presence_penalty: [0, 0.5],
  repetition_penalty: [1.1],
  seed: [7],
  stop: [['\n'], 'END'],
  logit_bias: [{ 50256: -100 }],
  n: [1, 2],
  user: ['u'],
  response_format: [{ type: 'json_object' }, schema],
  reasoning: [
    ...efforts.map((effort) => ({ effort })),
    { enabled: true },
    { enabled: false },
    { max_tokens: 4000 },
    { exclude: true },
  ],
  include_reasoning: [true, false],
  logprobs: [false, true],
  top_logprobs: [3],
  tools: [[weather]],
  tool_choice: ['auto', 'none', 'required', { type: 'function', function: { name: 'weather' } }],
  parallel_tool_calls: [true, false],
  structured_outputs: [true],
  reasoning_effort: efforts,
  thinking: [{ type: 'enabled' }, { type: 'disabled' }, { type: 'enabled', budget_tokens: 2000 }],
  enable_thinking: [true, false],
  chat_template_kwargs: [{ enable_thinking: false }],
  verbosity: ['medium', 'low'],
  prediction: [{ type: 'content', content: 'x' }],
  web_search_options: [{}],
  metadata: [{ a: 'b' }],
  cache_control: [{ type: 'ephemeral' }],
  prompt_cache_key: ['k'],
  prompt_cache_options: [{}],
  service_tier: ['auto'],
};

/**
 * A conversation as a client has it after a turn that Naru served: with an index in calls, with
 * nulls, with a breakpoint.
 */
const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
const conversation = [
  { role: 'system', content: [{ type: 'text', text: 'short', cache_control: { type: 'ephemeral' } }] },
  { role: 'user', content: 'Seoul?' },
  {
    ...{ role: 'assistant', content: null, refusal: null, reasoning: 'Hm.', reasoning_content: 'Hm.' },
    reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', format: 'unknown', index: 0 }],
    tool_calls: [call],
  },
  { role: 'tool', tool_call_id: 'call_1', content: '18' },
  { role: 'user', content: 'Thanks.' },
];

interface Sent {
  readonly body: Json;
  readonly changes: readonly ParameterChange[];
}

function destinationOf({ variant, model, id }: StrictUpstream): Destination {
  return {
    ...{ model, modelId: id ?? `test/${model.toLowerCase()}`, variant },
    ...{ overrides: {}, supportedParameters: null, maxCompletionTokens: null, price: {} },
  };
}

/** What an upstream is sent for these parameters. */
async function sentTo(
  upstream: StrictUpstream,
  parameters: Json,
  messages: readonly object[] = conversation,
): Promise<Sent> {
  const body = { model: 'test/m', messages, ...parameters };
  const parsed = parseCompletionRequest('chat', Buffer.from(JSON.stringify(body)), null);
  const { request, changes } = await openaiDialect.encode(parsed, destinationOf(upstream));
  return { body: JSON.parse(request.body), changes };
}

/** With the tools that some parameters need. */
function withTools(parameters: Json): Json {
  return 'tool_choice' in parameters || 'parallel_tool_calls' in parameters
    ? { tools: samples['tools']?.[0], ...parameters }
    : parameters;
}

test('every known parameter has values to try, and every API a strict upstream', () => {
  assert.deepEqual(Object.keys(samples).sort(), Object.keys(parametersOf.chat).sort());
  const tried = new Set(strictUpstreams.map(({ variant }) => variant));
  const rows = (Object.keys(providers) as Variant[]).filter(
    (name) => name !== 'generic' && name !== 'engine',
  );
  assert.deepEqual([...tried].sort(), rows.sort());
  assert.deepEqual(Object.keys(providers).sort(), [...providerVariants, 'engine'].sort());
  for (const variant of rows)
    for (const { name, models } of rulesOf(variant).families)
      assert.ok(
        strictUpstreams.some((one) => one.variant === variant && models.test(one.id ?? one.model)),
        `${variant}: no model of the family ${name}`,
      );
});

for (const upstream of strictUpstreams) {
  const { variant, model, id } = upstream;
  describe(`${variant}: ${id ?? model}`, () => {
    test('accepts each parameter as sent, and notes the changed ones', async () => {
      for (const [name, values] of Object.entries(samples)) {
        for (const value of values) {
          const parameters = withTools({ [name]: value });
          const { body, changes } = await sentTo(upstream, parameters);
          const what = `${name} ${JSON.stringify(value)} as ${JSON.stringify(body)}`;
          assert.equal(upstream.refuses(body), null, what);
          assertNoted(parameters, { body, changes }, what);
        }
      }
    });

    test('accepts all parameters at once', async () => {
      for (const last of [0, -1]) {
        const parameters = Object.fromEntries(
          Object.entries(samples).map(([name, values]) => [name, values.at(last)]),
        );
        const sent = await sentTo(upstream, parameters);
        assert.equal(upstream.refuses(sent.body), null, JSON.stringify(sent.body));
        assertNoted(parameters, sent, JSON.stringify(sent.body));
        assert.equal(sent.body[upstream.limit], 100);
      }
    });

    test('every parameter that it accepts is sent', async () => {
      for (const [name, values] of Object.entries(samples)) {
        for (const value of values) {
          const { changes } = await sentTo(upstream, withTools({ [name]: value }), [
            { role: 'user', content: 'x' },
          ]);
          if (!changes.some(({ parameter, change }) => parameter === name && change === 'dropped')) continue;
          const raw = { model, messages: [{ role: 'user', content: 'x' }], ...withTools({ [name]: value }) };
          assert.ok(
            upstream.refuses(raw) !== null || upstream.ignores(name),
            `${name} ${JSON.stringify(value)} would have been taken`,
          );
        }
      }
    });

    test('the listed parameters are those that are passed on', async () => {
      const passedOn: string[] = [];
      for (const [name, values] of Object.entries(samples)) {
        const sent = await Promise.all(values.map((value) => sentTo(upstream, withTools({ [name]: value }))));
        const isDropped = ({ changes }: Sent): boolean =>
          changes.some(({ parameter, change }) => parameter === name && change === 'dropped');
        if (!sent.every(isDropped)) passedOn.push(name);
      }
      const { modelId } = destinationOf(upstream);
      const listed = acceptedParameters({ dialect: 'openai', variant, model, modelId, price: {} });
      assert.deepEqual([...listed].sort(), passedOn.sort());
    });

    test('limits have the name that it reads', async () => {
      for (const limits of [
        { max_tokens: 50 },
        { max_completion_tokens: 50 },
        { max_tokens: 70, max_completion_tokens: 50 },
      ]) {
        const { body } = await sentTo(upstream, limits);
        const read = body[upstream.limit] ?? body['max_tokens'] ?? body['max_completion_tokens'];
        assert.equal(read, 50, JSON.stringify(body));
      }
    });

    test('reasoning is sent back in the field that it reads', async () => {
      const { messages } = (await sentTo(upstream, {})).body as { messages: readonly Json[] };
      const assistant = messages.find(({ role }) => role === 'assistant') ?? {};
      switch (upstream.reasoning) {
        case null:
          for (const name of ['reasoning', 'reasoning_content', 'reasoning_details'])
            assert.ok(!(name in assistant), name);
          return;
        case 'thinking':
          assert.deepEqual(assistant['content'], [
            { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
          ]);
          return;
        default:
          assert.equal(assistant[upstream.reasoning], 'Hm.');
      }
    });
  });
}

/** Fails unless the changes are those between the request and what was sent. */
function assertNoted(parameters: Json, { body, changes }: Sent, what: string): void {
  const noted = new Map(changes.map((change) => [change.parameter, change]));
  for (const [name, value] of Object.entries(parameters)) {
    const change = noted.get(name);
    if (isDeepStrictEqual(body[name], value)) assert.equal(change, undefined, what);
    else if (name in body) assert.ok(change?.change === 'changed' || change?.change === 'renamed', what);
    // Where it is an instruction among the messages, it was changed too.
    else assert.ok(change?.change !== undefined, what);
    if (change?.change === 'renamed') assert.ok(change.to !== undefined && change.to in body, what);
  }
  for (const name of noted.keys())
    assert.ok(name in parameters || name.startsWith('messages') || name.startsWith('tools.'), what);
}

test('an API is identified by the host of its address', () => {
  const addresses: readonly (readonly [url: string, variant: Variant])[] = [
    ['https://api.openai.com/v1', 'openai'],
    ['https://my-resource.openai.azure.com/openai/v1', 'azure'],
    ['https://api.deepseek.com', 'deepseek'],
    ['https://api.moonshot.cn/v1', 'moonshot'],
    ['https://api.mistral.ai/v1', 'mistral'],
    ['https://api.x.ai/v1', 'xai'],
    ['https://api.groq.com/openai/v1', 'groq'],
    ['https://api.together.xyz/v1', 'together'],
    ['https://api.fireworks.ai/inference/v1', 'fireworks'],
    ['https://openrouter.ai/api/v1', 'openrouter'],
    ['https://api.openai.com.evil.example/v1', 'generic'],
    ['http://127.0.0.1:8000/v1', 'generic'],
  ];
  for (const [url, variant] of addresses) assert.equal(variantOfUrl(url), variant, url);
});

describe('through the gateway', () => {
  const rows = strictUpstreams.map((row, at) => ({
    row,
    id: `test${at}/${(row.id ?? row.model).split('/').at(-1)?.toLowerCase()}`,
  }));
  let naru: TestGateway;
  let key: string;
  const upstreams: Upstream[] = [];
  before(async () => {
    for (const { row } of rows) {
      const upstream = await startUpstream();
      upstream.respond(({ body }) => {
        const message = row.refuses(body);
        return message === null ? reply.chat('18') : reply.status(row.status, { error: { message } });
      });
      upstreams.push(upstream);
    }
    naru = await startTestGateway({
      models: rows.map(({ id, row }, at) => ({
        id,
        upstreams: [upstreams[at]?.url ?? ''],
        candidates: [{ model: row.model }],
      })),
      config: {
        providers: rows.map(({ row }, at) => ({
          ...{ slug: `up${at + 1}`, dialect: 'openai', variant: row.variant, base_url: upstreams[at]?.url },
        })) as unknown as object,
        limits: { requests_per_second: 10_000, burst: 10_000 },
      },
    });
    ({ key } = await naru.account({ credit: '100000000' }));
  });
  after(async () => {
    await naru?.close();
    await Promise.all(upstreams.map((upstream) => upstream.close()));
  });

  for (const { row, id } of rows) {
    test(`${row.variant}: ${row.id ?? row.model} responds, as JSON and streamed, and the record has what was changed`, async () => {
      const parameters = Object.fromEntries(
        Object.entries(samples).map(([name, values]) => [name, values.at(-1)]),
      );
      for (const stream of [false, true]) {
        const response = await naru.send('POST', '/chat/completions', {
          key,
          body: { ...parameters, model: id, messages: conversation, n: 1, stream },
        });
        assert.equal(response.status, 200, response.text);
        const generation = response.headers.get('x-generation-id');
        const record = (await naru.send('GET', `/generation?id=${generation}`, { key })).json.data;
        const [attempt] = record.provider_responses;
        const body = upstreams[rows.findIndex((one) => one.id === id)]?.requests.at(-1)?.body ?? {};
        assertNoted(
          { ...parameters, n: 1 },
          { body, changes: attempt.parameter_changes ?? [] },
          JSON.stringify(body),
        );
      }
    });
  }
});

test('where no tool can be forced, an instruction asks for it and the model chooses', async () => {
  const named = { type: 'function', function: { name: 'weather' } };
  const cases = [
    { variant: 'deepseek', model: 'deepseek-reasoner' },
    { variant: 'moonshot', model: 'kimi-k2.6' },
  ] as const;
  for (const { variant, model } of cases)
    for (const [choice, asked] of [
      ['required', /calling a tool\.$/],
      [named, /calling the tool weather\.$/],
    ] as const) {
      const upstream = strictUpstreams.find((one) => one.variant === variant && one.model === model);
      const { body, changes } = await sentTo(
        upstream ?? assert.fail(model),
        withTools({ tool_choice: choice }),
      );
      assert.equal(body['tool_choice'], 'auto');
      const texts = (body['messages'] as readonly Json[]).map(({ content }) => content);
      assert.ok(texts.some((text) => typeof text === 'string' && asked.test(text)));
      assert.deepEqual(
        changes.filter(({ parameter }) => parameter === 'tool_choice'),
        [{ parameter: 'tool_choice', change: 'changed' }],
      );
    }
});
