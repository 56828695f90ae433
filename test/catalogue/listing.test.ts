import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { messageOf, metadataOfListing } from '../../src/catalogue/listing/listing.ts';
import { ModelMetadataError } from '../../src/config/model-metadata/metadata.ts';
import { plainDecimal, rateOf } from '../../src/config/rates.ts';
import { check } from '../harness/property.ts';

/* The facts in the body of a `GET /models` of the API that Naru's is like. */

const about = { asOf: '2026-01-15', source: 'https://source.example/models', known: new Map() };

/** A row as OpenRouter publishes it. */
function row(more: object = {}): Record<string, unknown> {
  return {
    id: 'openai/gpt-4',
    canonical_slug: 'openai/gpt-4',
    name: 'OpenAI: GPT-4',
    created: 1_692_901_234,
    description: 'Large.\n\nA second paragraph.',
    context_length: 8192,
    architecture: {
      modality: 'text->text',
      input_modalities: ['text', 'image', 'smell'],
      output_modalities: ['text'],
      tokenizer: 'GPT',
      instruct_type: null,
    },
    pricing: { prompt: '0.00003', completion: '0.00006', image: '0', request: '0', input_cache_read: '0' },
    top_provider: { context_length: 8192, max_completion_tokens: 4096, is_moderated: true },
    per_request_limits: null,
    supported_parameters: ['temperature', 'top_p', 'temperature', 'Not A Name', 7],
    default_parameters: null,
    knowledge_cutoff: null,
    hugging_face_id: '',
    expiration_date: null,
    links: { details: '/api/v1/models/openai/gpt-4/endpoints' },
    ...more,
  };
}

function read(...rows: readonly unknown[]) {
  return metadataOfListing({ data: rows, total_count: rows.length, links: { next: null } }, about);
}

test('a row becomes model metadata: prices per million, the first paragraph, and only what Naru supports', () => {
  assert.deepEqual(read(row()).file, {
    as_of: '2026-01-15',
    source: 'https://source.example/models',
    models: [
      {
        id: 'openai/gpt-4',
        name: 'OpenAI: GPT-4',
        description: 'Large.',
        created: '2023-08-24',
        context_length: 8192,
        max_completion_tokens: 4096,
        input_modalities: ['text', 'image'],
        output_modalities: ['text'],
        tokenizer: 'GPT',
        price: { prompt: '30', completion: '60' },
      },
    ],
  });
});

test('a price is used only if it is fixed and not all zero; prices that cannot be billed are named', () => {
  const priceOf = (pricing: unknown) =>
    read(row({ pricing }), row({ id: 'a/other' })).file.models.at(-1)?.price;
  assert.equal(priceOf({ prompt: '-1', completion: '-1' }), undefined);
  assert.equal(priceOf({ prompt: '0', completion: '0.0' }), undefined);
  assert.deepEqual(priceOf({ prompt: '0', completion: '1e-7' }), { prompt: '0', completion: '0.1' });
  assert.deepEqual(
    priceOf({
      ...{ prompt: '0.0000012', completion: '0.00001', request: '0.01', input_cache_read: '0.00000012' },
      ...{ input_cache_write: '0.000001500', web_search: '0.01', audio: '0', internal_reasoning: '0.00001' },
      overrides: [{ min_prompt_tokens: 200_000, prompt: '0.0000025' }],
    }),
    {
      ...{ prompt: '1.2', completion: '10', request: '0.01', cache_read: '0.12', cache_write: '1.5' },
      unbilled: ['web_search', 'overrides'],
    },
  );
});

test('rows that cannot be parsed are skipped and counted; the others are kept', () => {
  const { file, left } = read(
    null,
    [],
    'x',
    {},
    row(),
    row(),
    row({ id: 'openai/gpt-4:free' }),
    row({ id: 'openrouter/auto' }),
    row({ id: '../etc/passwd' }),
    row({ id: 'a/numbers', pricing: { prompt: 0.00003, completion: 0.00006 } }),
    row({ id: 'a/negative', pricing: { prompt: '-0.5', completion: '1' } }),
    row({ id: 'a/huge', pricing: { prompt: '1e99', completion: '1' } }),
    row({ id: 'a/none', pricing: null }),
    row({ id: 'a/no-context', context_length: null }),
    row({ id: 'a/half-context', context_length: 0.5 }),
    row({
      id: '__proto__/x',
      top_provider: { max_completion_tokens: 1e12 },
      created: -1,
      name: '',
      architecture: 7,
    }),
  );
  assert.deepEqual(
    file.models.map(({ id }) => id),
    ['__proto__/x', 'openai/gpt-4'],
  );
  assert.deepEqual(Object.fromEntries(left), {
    'it has no id': 4,
    'its id is a duplicate': 1,
    'its id is invalid in Naru': 3,
    'its price is not a pair of decimal numbers': 4,
    'it has no context length': 2,
  });
  assert.match(messageOf(left), /^ \(4 × it has no id; /);
});

test("a maker's own model name is kept, since no listing has it", () => {
  const known = new Map([['openai/gpt-4', { id: 'openai/gpt-4', maker_model: 'gpt-4-0613' }]]);
  const { file } = metadataOfListing({ data: [row()] }, { ...about, known });
  assert.equal(file.models[0]?.maker_model, 'gpt-4-0613');
});

test('a metadata file is used as it is', () => {
  const { file } = read(row());
  assert.deepEqual(metadataOfListing(file, { ...about, asOf: '2027-01-01' }).file, file);
});

test('an incomplete listing is rejected', () => {
  const refused = (json: unknown, message: RegExp): void =>
    assert.throws(
      () => metadataOfListing(json, about),
      (error) => error instanceof ModelMetadataError && message.test(error.message),
    );
  for (const json of [null, 7, [], 'x', {}, { data: {} }])
    refused(json, /it is none of: a listing of models with a list "data"/);
  refused({ data: [] }, /none of its 0 rows is a model/);
  refused({ data: [{}, {}] }, /none of its 2 rows is a model \(2 × it has no id\)/);
  refused({ data: [row()], links: { next: '/models?offset=500' } }, /one page of a listing/);
  refused({ as_of: 'today', source: 'x', models: [] }, /as_of: /);
});

test('a price per million is the price per token, to the last decimal', () => {
  const amount = fc
    .tuple(
      fc.bigInt({ min: 0n, max: 9n }),
      fc.stringMatching(/^[0-9]{1,17}$/),
      fc.integer({ min: -9, max: 0 }),
    )
    .map(([whole, fraction, exponent]) => ({
      text: `${whole}.${fraction}e${exponent}`,
      plain: `${whole}.${fraction}`,
    }));
  const exchange = { usdKrw: '1387.35', marginPercent: '2.5' };
  check(
    fc.property(amount, ({ text }) => {
      const million = plainDecimal(text, 6);
      assert.ok(million !== null);
      assert.match(million, /^(0|[1-9]\d*)(\.\d*[1-9])?$/);
      assert.equal(rateOf(million, 1_000_000n, exchange), rateOf(text, 1n, exchange));
      assert.equal(plainDecimal(million, -6), plainDecimal(text));
    }),
    { numRuns: 300 },
  );
});

/** The two public lists, cut to what matters. */
const litellm = {
  sample_spec: { litellm_provider: 'one of the providers', mode: 'one of: chat, embedding' },
  'claude-opus-4-5': {
    ...{ litellm_provider: 'anthropic', mode: 'chat', max_input_tokens: 200_000, max_output_tokens: 64_000 },
    ...{ input_cost_per_token: 5e-6, output_cost_per_token: 2.5e-5, cache_read_input_token_cost: 5e-7 },
    ...{ input_cost_per_token_above_200k_tokens: 1e-5, supports_vision: true, supports_pdf_input: true },
  },
  'claude-opus-4-5-20251101': { litellm_provider: 'anthropic', mode: 'chat', max_input_tokens: 1 },
  'gpt-6-sol': {
    litellm_provider: 'openai',
    mode: 'chat',
    max_input_tokens: 922_000,
    output_cost_per_token: 1,
  },
  'mistral/zai-glm-5': { litellm_provider: 'mistral', mode: 'chat', max_input_tokens: 9 },
  'azure/gpt-6-sol': { litellm_provider: 'azure', mode: 'chat', max_input_tokens: 9 },
  'text-embedding-3': { litellm_provider: 'openai', mode: 'embedding', max_input_tokens: 9 },
};
const modelsDev = {
  anthropic: {
    models: {
      'claude-opus-4-5': {
        ...{ name: 'Claude Opus 4.5 (latest)', release_date: '2025-11-24', knowledge: '2025-03' },
        ...{ limit: { context: 200_000, output: 64_000 }, cost: { input: 5, output: 25, cache_write: 6.25 } },
        modalities: { input: ['text', 'image', 'pdf'], output: ['text'] },
      },
    },
  },
  openrouter: {
    models: {
      'anthropic/claude-opus-4.5': {
        limit: { context: 1_000_000, output: 1 },
        cost: { input: 9, output: 9 },
      },
      'tiny/free': { name: 'Tiny', limit: { context: 8192 }, cost: { input: 0, output: 0 } },
      'tiny/free:free': { limit: { context: 8192 } },
    },
  },
  router: { models: { 'gpt-6-sol': { limit: { context: 9 } } } },
};

test("the makers' own models are found in LiteLLM's price file and in models.dev", () => {
  const opus = {
    ...{
      id: 'anthropic/claude-opus-4.5',
      name: 'Anthropic: Claude Opus 4.5',
      maker_model: 'claude-opus-4-5',
    },
    ...{
      context_length: 200_000,
      max_completion_tokens: 64_000,
      input_modalities: ['text', 'image', 'file'],
    },
  };
  const one = metadataOfListing(litellm, about);
  assert.deepEqual(one.file.models, [
    { ...opus, price: { prompt: '5', completion: '25', cache_read: '0.5', unbilled: ['overrides'] } },
    {
      id: 'openai/gpt-6-sol',
      name: 'OpenAI: GPT-6 Sol',
      context_length: 922_000,
      input_modalities: ['text'],
    },
  ]);
  assert.deepEqual([...one.left.values()].sort(), [1, 2, 2]);
  const two = metadataOfListing(modelsDev, about);
  assert.deepEqual(two.file.models, [
    {
      ...{ ...opus, created: '2025-11-24', output_modalities: ['text'] },
      price: { prompt: '5', completion: '25', cache_write: '6.25' },
    },
    { id: 'tiny/free', name: 'Tiny', context_length: 8192 },
  ]);
});

test('what is known stays: limits over those of LiteLLM, and what is known of open models', () => {
  const known = new Map([
    ['openai/gpt-6-sol', { id: 'openai/gpt-6-sol', context_length: 1_050_000 }],
    ['tiny/free', { id: 'tiny/free', hugging_face_id: 'tiny/free', context_length: 4096 }],
  ]);
  assert.equal(metadataOfListing(litellm, { ...about, known }).file.models[1]?.context_length, 1_050_000);
  const { file, left } = metadataOfListing(modelsDev, { ...about, known });
  assert.deepEqual(
    file.models.map(({ id }) => id),
    ['anthropic/claude-opus-4.5'],
  );
  assert.equal(left.get('its limits depend on who serves its weights'), 1);
});

test('whatever a file holds, it is read or rejected with a reason', () => {
  const names = fc.constantFrom(
    ...['data', 'id', 'pricing', 'litellm_provider', 'mode', 'max_input_tokens', 'input_cost_per_token'],
    ...[
      'output_cost_per_token',
      'openai',
      'models',
      'gpt-9',
      'limit',
      'context',
      'cost',
      'input',
      'openrouter',
    ],
    ...['a/b', '__proto__', 'constructor', 'modalities', 'release_date', 'name', 'as_of'],
  );
  const leaf = fc.oneof(
    fc.constantFrom<unknown>(
      'openai',
      'chat',
      'openai/gpt-9',
      -1,
      1e308,
      5e-324,
      1e21,
      null,
      '\0',
      'x'.repeat(30_000),
    ),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'medium' },
      leaf,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(names, tie('tree')),
    ),
  }));
  const seeds = fc.constantFrom<object>(litellm, modelsDev, { data: [row()] });
  check(
    fc.property(seeds, fc.dictionary(names, tree), (seed, odd) => {
      try {
        const { file } = metadataOfListing(
          JSON.parse(JSON.stringify({ ...seed, ...odd, 'gpt-8': odd })),
          about,
        );
        assert.ok(file.models.length > 0);
      } catch (error) {
        assert.ok(error instanceof ModelMetadataError, String(error));
      }
    }),
    { numRuns: 200 },
  );
});
