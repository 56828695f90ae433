import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildCatalogue, statedPrices } from '../../src/catalogue/catalogue.ts';
import { parseMetadata } from '../../src/config/model-metadata/metadata.ts';
import { shippedFacts } from '../../src/config/model-metadata/shipped.ts';
import { providerVariants } from '../../src/config/variants.ts';
import { acceptedParameters } from '../../src/dialects/accepted-parameters.ts';
import { anthropicDialect } from '../../src/dialects/anthropic/index.ts';
import { isKnown } from '../../src/dialects/known-parameters.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { notOffered, parametersOf } from '../../src/wire/parameters.ts';
import { configOf, faultsOf, takenOf } from './load-text.ts';

/*
 * Rows of one line: what a row of `models` omits comes from the public metadata, and its own
 * members take precedence.
 */

const facts = JSON.stringify({
  as_of: '2026-01-15',
  source: 'a test',
  models: [
    {
      id: 'openai/gpt-4o-mini',
      name: 'OpenAI: GPT-4o-mini',
      description: 'Small.',
      created: '2024-07-18',
      context_length: 128000,
      max_completion_tokens: 16384,
      input_modalities: ['text', 'image'],
      output_modalities: ['text'],
      supported_parameters: ['tools', 'temperature'],
      knowledge_cutoff: '2023-10-01',
      tokenizer: 'GPT',
      price: { prompt: '0.15', completion: '0.6', cache_read: '0.075', unbilled: ['web_search'] },
    },
    {
      id: 'anthropic/claude-x.5',
      context_length: 1000,
      maker_model: 'claude-x-5',
      price: { prompt: '1', completion: '2' },
    },
    { id: 'qwen/qwen3-8b', context_length: 40960 },
  ],
});
const providers = `providers:
  - { slug: openai, dialect: openai, base_url: "https://h/v1" }
  - { slug: anthropic, dialect: anthropic, base_url: "https://h/v1" }
  - { slug: router, dialect: openai, base_url: "https://h/v1" }
slots: [{ name: gpu, command: [e, "{port}"] }]
`;
const exchange = 'exchange: { usd_krw: 1400, margin_percent: 2.5 }\n';

function withRow(row: string, before = exchange): string {
  return `${providers}${before}models:\n  - ${row}\n`;
}

test('one line is a complete model', () => {
  const text = withRow('{ id: openai/gpt-4o-mini, provider: openai }');
  const [model] = configOf(text, { facts }).models;
  const price = {
    prompt: 215_250_000n,
    completion: 861_000_000n,
    request: 0n,
    cacheRead: 107_625_000n,
    cacheWrite: 215_250_000n,
  };
  assert.deepEqual(model, {
    id: 'openai/gpt-4o-mini',
    name: 'OpenAI: GPT-4o-mini',
    description: 'Small.',
    createdMs: Date.UTC(2024, 6, 18),
    contextLength: 128_000,
    maxCompletionTokens: 16_384,
    inputModalities: ['text', 'image'],
    outputModalities: ['text'],
    supportedParameters: null,
    defaultParameters: null,
    huggingFaceId: null,
    knowledgeCutoff: '2023-10-01',
    tokenizer: 'GPT',
    candidates: [
      {
        target: { kind: 'provider', provider: 'openai', model: 'gpt-4o-mini' },
        contextLength: 128_000,
        maxCompletionTokens: 16_384,
        inputModalities: ['text', 'image'],
        parameters: {},
        supportedParameters: null,
        quantization: null,
        price,
        stated: {
          ...{ currency: 'USD', per: '1M', prompt: '0.15', completion: '0.6', request: '0' },
          ...{ cacheRead: '0.075', cacheWrite: null, usdKrw: '1400', marginPercent: '2.5' },
          factsAsOf: '2026-01-15',
        },
        weight: null,
        dataCollection: true,
        zdr: false,
        distillable: false,
      },
    ],
  });
  assert.deepEqual(takenOf(text, { facts })?.models, [
    {
      id: 'openai/gpt-4o-mini',
      members: [
        ...['name', 'description', 'created', 'context_length', 'max_completion_tokens', 'input_modalities'],
        ...['output_modalities', 'knowledge_cutoff', 'tokenizer', 'price'],
      ],
      price: 'USD 0.15/0.6 per 1M',
      asks: 'gpt-4o-mini',
      unbilled: ['web_search'],
    },
  ]);
});

test("the upstream id is the maker's own name at the maker, and the id at every other provider", () => {
  const request = (row: string): unknown => {
    const target = configOf(withRow(row), { facts }).models[0]?.candidates[0]?.target;
    return target?.kind === 'provider' ? target.model : target;
  };
  const price = 'context_length: 9, price: { prompt: 1, completion: 1, per: token }';
  const max = 'max_completion_tokens: 5';
  assert.equal(request(`{ id: anthropic/claude-x.5, provider: anthropic, ${max} }`), 'claude-x-5');
  assert.equal(request('{ id: anthropic/claude-x.5, provider: router }'), 'anthropic/claude-x.5');
  assert.equal(request(`{ id: anthropic/claude-x.5, provider: anthropic, model: mine, ${max} }`), 'mine');
  assert.equal(request(`{ id: openai/unknown, provider: openai, ${price} }`), 'unknown');
  assert.equal(
    request(`{ id: openai/gpt-4o-mini, facts: false, provider: openai, ${price} }`),
    'gpt-4o-mini',
  );
  // A list of candidates applies as written.
  assert.equal(
    request(`{ id: anthropic/claude-x.5, ${max}, candidates: [{ provider: anthropic }] }`),
    'anthropic/claude-x.5',
  );
  assert.deepEqual(
    request('{ id: qwen/qwen3-8b, slot: gpu, price: { prompt: 1, completion: 1, per: token } }'),
    {
      kind: 'slot',
      slot: 'gpu',
    },
  );
});

test('members of the row take precedence one by one; a price is one member', () => {
  const row =
    'id: openai/gpt-4o-mini, provider: openai, name: Mine, context_length: 1000, price: { prompt: 1, completion: 2, per: token, confirm: true }';
  const [model] = configOf(withRow(`{ ${row} }`, ''), { facts }).models;
  assert.equal(model?.name, 'Mine');
  assert.equal(model?.description, 'Small.');
  assert.equal(model?.contextLength, 1000);
  assert.equal(model?.maxCompletionTokens, 1000, 'no longer than the context');
  assert.equal(model?.candidates[0]?.stated.currency, 'KRW');
  assert.equal(model?.candidates[0]?.stated.factsAsOf, null);
  assert.equal(model?.candidates[0]?.price.cacheRead, 10n ** 12n, 'nothing of a price comes from elsewhere');
});

test('a price comes from the metadata only where a candidate needs one', () => {
  const own = 'price: { prompt: 1, completion: 2, per: token, confirm: true }';
  const both = withRow(
    `{ id: openai/gpt-4o-mini, candidates: [{ slot: gpu, ${own} }, { provider: openai, ${own} }] }`,
    '',
  );
  assert.equal(configOf(both, { facts }).models[0]?.candidates[0]?.price.prompt, 10n ** 12n);
  const one = withRow(
    `{ id: openai/gpt-4o-mini, candidates: [{ slot: gpu, ${own} }, { provider: openai }] }`,
  );
  assert.deepEqual(
    configOf(one, { facts }).models[0]?.candidates.map(({ stated }) => stated.factsAsOf),
    [null, '2026-01-15'],
  );
});

test('a row with facts: false uses no metadata, and a file of complete rows means the same with and without metadata', () => {
  const row =
    'id: openai/gpt-4o-mini, context_length: 9, price: { prompt: 1, completion: 2, per: token, confirm: true }, candidates: [{ slot: gpu }]';
  const text = withRow(`{ ${row}, facts: false }`);
  assert.deepEqual(configOf(text, { facts }), configOf(text));
  assert.equal(configOf(text, { facts }).models[0]?.supportedParameters, null);
  assert.deepEqual(takenOf(text, { facts }), null);
});

const row = (members: string): string => withRow(`{ ${members} }`);
const faults: readonly (readonly [text: string, ...faults: readonly string[]])[] = [
  [
    row('id: openai/gpt-4o-mimi, provider: openai'),
    '8:5 models[0].context_length: is missing, and the public facts of 2026-01-15 do not know "openai/gpt-4o-mimi" (did you mean "openai/gpt-4o-mini"?)',
    '8:5 models[0].price: is missing, and the public facts of 2026-01-15 do not know "openai/gpt-4o-mimi" (did you mean "openai/gpt-4o-mini"?): a model without a price cannot be served',
  ],
  [
    row('id: qwen/qwen3-8b, slot: gpu'),
    '8:5 models[0].price: is missing, and the public facts of 2026-01-15 do not state it either: a model without a price cannot be served',
  ],
  [
    row('id: openai/gpt-4o-mini, provider: openai, facts: false, context_length: 9'),
    '8:5 models[0].price: is missing, and facts: false takes none from the public facts: a model without a price cannot be served',
  ],
  [
    withRow('{ id: openai/gpt-4o-mini, provider: openai }', ''),
    '7:5 models[0].price: comes in USD from the public facts, but the file states no exchange: { usd_krw: … }',
  ],
  [
    row('id: openai/gpt-4o-mini'),
    '8:5 models[0].candidates: is missing: needs candidates, or one provider or slot',
  ],
  [
    row('id: openai/gpt-4o-mini, provider: openai, slot: gpu'),
    '8:49 models[0].slot: is used together with provider: needs only one of them',
  ],
  [
    row('id: openai/gpt-4o-mini, candidates: [{ slot: gpu }], provider: openai'),
    '8:60 models[0].provider: is used together with candidates: needs only one of them',
  ],
  [
    row('id: openai/gpt-4o-mini, slot: gpu, model: x'),
    '8:42 models[0].model: has no effect without provider',
  ],
  [
    row('id: openai/gpt-4o-mini, provider: opena'),
    '8:41 models[0].provider: no provider is called "opena" (did you mean "openai"?)',
  ],
  [
    row('id: openai/gpt-4o-mini, slot: gpus'),
    '8:37 models[0].slot: no slot is called "gpus" (did you mean "gpu"?)',
  ],
  [
    row('id: openai/gpt-4o-mini, provider: openai, max_completion_tokens: 200000'),
    '8:72 models[0].max_completion_tokens: must not be above context_length (128000), not "200000"',
  ],
];

for (const [text, ...expected] of faults)
  test(`a fault has its position: ${expected[0]}`, () => {
    assert.deepEqual(
      faultsOf(text, { facts }),
      expected.map((fault) => `naru.yaml:${fault}`),
    );
  });

test('unusable metadata is a fault, never another price; it is not read if no row could use it', () => {
  const line = row('id: openai/gpt-4o-mini, provider: openai');
  for (const [broken, why] of [
    ['{', /cannot be used: it is not JSON/],
    ['{}', /cannot be used: as_of: /],
    [facts.replace('"0.15"', '-1'), /cannot be used: models\.0\.price\.prompt: /],
    [facts.replace('anthropic/claude-x.5', 'openai/gpt-4o-mini'), /openai\/gpt-4o-mini is listed twice/],
    [facts.replace('128000', '1.5'), /models\.0\.context_length/],
  ] as const)
    assert.match(faultsOf(line, { facts: broken })[0] ?? '', why);
  assert.deepEqual(faultsOf('models: []', { facts: '{' }), []);
  assert.deepEqual(faultsOf(`${providers}`, { facts: '{' }), []);
});

test('the file may name its metadata file, relative to itself', () => {
  const named = `facts: { file: my/facts.json }\n${row('id: openai/gpt-4o-mini, provider: openai')}`;
  const files = { '/etc/naru/my/facts.json': facts };
  assert.equal(configOf(named, { files, facts: '{' }).models[0]?.contextLength, 128_000);
  assert.equal(takenOf(named, { files })?.origin, '/etc/naru/my/facts.json');
  assert.match(
    faultsOf(named, { facts }).join('\n'),
    /naru\.yaml:1:16 facts\.file: the facts of models \(\/etc\/naru\/my\/facts\.json\) cannot be used: ENOENT; naru models refresh/,
  );
});

test('the shipped metadata is valid: dozens of models, each a one-line row if it has a price', () => {
  const { models, asOf } = parseMetadata(shippedFacts.read());
  assert.ok(models.size >= 50, String(models.size));
  assert.match(asOf, /^20\d\d-\d\d-\d\d$/);
  const priced = [...models.values()].filter((fact) => fact.price !== undefined);
  assert.ok(priced.length >= 30, String(priced.length));
  const text = `${exchange}providers: [{ slug: p, dialect: openai, base_url: "http://h" }]
slots: [{ name: gpu, command: ["{port}"] }]
models:
${[...models.values()].map(({ id, price }) => `  - { id: ${id}, ${price ? 'provider: p' : 'slot: gpu, price: { prompt: 1, completion: 1, per: token }'} }`).join('\n')}`;
  const config = configOf(text, { facts: shippedFacts.read() });
  assert.equal(config.models.length, models.size);
  for (const model of config.models) {
    assert.notEqual(model.name, model.id);
    const [price] = model.candidates.map((candidate) => candidate.price);
    assert.ok(price !== undefined && price.prompt > 0n && price.completion >= price.prompt, model.id);
    assert.ok((model.maxCompletionTokens ?? 1) <= model.contextLength, model.id);
  }
});

const shipped = parseMetadata(shippedFacts.read()).models;
const apis = [
  ...(['anthropic', 'google', 'bedrock'] as const).map((dialect) => [dialect, 'generic'] as const),
  ...providerVariants.map((variant) => ['openai', variant] as const),
];

// spec:operator/2.6
for (const [dialect, variant] of apis)
  test(`${dialect}, ${variant}: no row of the shipped metadata restricts a parameter, and the list is what is passed on`, () => {
    const rows = [...shipped.keys()].map(
      (id) =>
        `  - { id: ${id}, provider: p, max_completion_tokens: 9, price: { prompt: 1, completion: 1, per: 1M } }`,
    );
    const aws = dialect === 'bedrock' ? ', api_key: k, region: us-east-1' : '';
    const provider =
      dialect === 'openai' ? `variant: ${variant}, base_url: "http://h"` : `base_url: "http://h"${aws}`;
    const config = configOf(
      `providers: [{ slug: p, dialect: ${dialect}, ${provider} }]\nmodels:\n${rows.join('\n')}`,
      {
        facts: shippedFacts.read(),
      },
    );
    const { models } = buildCatalogue(config, statedPrices(config, 1));
    assert.equal(models.length, shipped.size);
    for (const { id, supportedParameters: listed, candidates } of models)
      for (const candidate of candidates) {
        const to = { dialect, variant, model: id, modelId: id, price: candidate.price };
        const expressible = acceptedParameters(to).filter((name) => !notOffered.has(name));
        assert.deepEqual([...listed].sort(), [...expressible].sort(), id);
        const destination = { ...to, ...candidate, maxCompletionTokens: null };
        for (const name of Object.keys(parametersOf.chat))
          assert.ok(isKnown(name, destination), `${id}: ${name}`);
      }
  });

test('a JSON schema reaches every shipped Claude model as the API has it', async () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  };
  const body = {
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
  };
  const parsed = parseCompletionRequest('chat', Buffer.from(JSON.stringify(body)), null);
  const dialect = anthropicDialect({ baseUrl: 'https://h', apiKey: 'k', headers: {} });
  const claude = [...shipped.keys()].filter((id) => id.startsWith('anthropic/'));
  assert.ok(claude.length >= 8, String(claude.length));
  const text = `${exchange}providers: [{ slug: anthropic, dialect: anthropic, base_url: "https://h" }]
models:
${claude.map((id) => `  - { id: ${id}, provider: anthropic, price: { prompt: 1, completion: 1, per: 1M } }`).join('\n')}`;
  const config = configOf(text, { facts: shippedFacts.read() });
  for (const { candidates } of buildCatalogue(config, statedPrices(config, 1)).models)
    for (const candidate of candidates) {
      const to = { ...candidate, model: candidate.upstreamModel, maxCompletionTokens: 1000 };
      const { request } = await dialect.encode(parsed, to);
      const sent = JSON.parse(request.body);
      const sentSchema = sent.output_config?.format?.schema ?? sent.tools?.[0]?.input_schema;
      assert.deepEqual(sentSchema?.properties, schema.properties, candidate.modelId);
    }
});
