/** The encoded request of each upstream. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { acceptedParameters } from '../../src/dialects/accepted-parameters.ts';
import { anthropicDialect } from '../../src/dialects/anthropic/index.ts';
import { bedrockDialect } from '../../src/dialects/bedrock/index.ts';
import {
  type Destination,
  type Dialect,
  UnsupportedRequest,
  type UpstreamCodec,
} from '../../src/dialects/dialect.ts';
import { googleDialect } from '../../src/dialects/google/index.ts';
import { openaiDialect } from '../../src/dialects/openai/index.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { rateOfPico } from '../../src/money/price.ts';
import { reply } from '../harness/upstream.ts';
import { bedrockWire } from '../harness/wire-bedrock.ts';
import { openWireWorld, wireModel } from '../harness/wire-world.ts';

const access = { baseUrl: 'https://upstream.example', apiKey: 'k', headers: {} };
const aws = { region: 'us-east-1', accessKeyId: '', secretAccessKey: '', sessionToken: '' };
const anthropic = { dialect: anthropicDialect(access), model: 'claude-sonnet-4-5' };
const google = { dialect: googleDialect(access), model: 'gemini-2.5-flash' };
const bedrock = {
  dialect: bedrockDialect({ ...access, ...aws }),
  model: 'us.anthropic.claude-sonnet-4-20250514-v1:0',
};
const all = [anthropic, google, bedrock];

const one = rateOfPico(1n);
const hi = [{ role: 'user', content: 'hi' }];
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const schema = {
  type: 'object',
  properties: { celsius: { type: 'number' } },
  required: ['celsius'],
  additionalProperties: false,
};
const tool = (name: string, extra: object = {}): object => ({
  type: 'function',
  function: { name, description: `does ${name}`, parameters: schema },
  ...extra,
});

describe('a conversation', () => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'One' },
        { type: 'text', text: '' },
      ],
    },
    { role: 'assistant', content: null, tool_calls: [call('a', '{"x":1}'), call('b', '{"x":')] },
    { role: 'tool', tool_call_id: 'a', content: 'first' },
    { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'second' }] },
    { role: 'assistant', content: '' },
    { role: 'system', content: 'Now in Korean.' },
    { role: 'user', content: 'Two' },
  ];
  const sent = { messages, tools: [tool('look')] };

  test('in Anthropic’s format', async () => {
    const { system, messages: output } = await bodyOf(anthropic, sent);
    assert.deepEqual(system, [text('Be brief.'), text('Be kind.')]);
    assert.deepEqual(output, [
      { role: 'user', content: [text('One')] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'look', input: { x: 1 } },
          { type: 'tool_use', id: 'b', name: 'look', input: { arguments: '{"x":' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'first' },
          { type: 'tool_result', tool_use_id: 'b', content: 'second' },
          text('Now in Korean.'),
          text('Two'),
        ],
      },
    ]);
  });

  test('in Google’s format', async () => {
    const { systemInstruction, contents } = await bodyOf(google, sent);
    assert.deepEqual(systemInstruction.parts, [{ text: 'Be brief.' }, { text: 'Be kind.' }]);
    assert.deepEqual(
      contents.map(({ role }: { role: string }) => role),
      ['user', 'model', 'user', 'user', 'user'],
    );
    assert.deepEqual(contents[1].parts[0].functionCall, { id: 'a', name: 'look', args: { x: 1 } });
    assert.equal(contents[2].parts.length, 2, 'both results together');
    assert.equal(contents[2].parts[1].functionResponse.response.content, 'second');
  });

  test('in Bedrock’s format', async () => {
    const { system, messages: body } = await bodyOf(bedrock, sent);
    assert.deepEqual(system, [{ text: 'Be brief.' }, { text: 'Be kind.' }]);
    assert.deepEqual(body[1].content[0], { toolUse: { toolUseId: 'a', name: 'look', input: { x: 1 } } });
    assert.equal(body[2].content.length, 4, 'both results, and the text of the user');
  });
});

test('an image, a document and a recording are sent as bytes', async () => {
  const parts = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
    { type: 'image_url', image_url: `data:image/png;base64,${pixel}` },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0x' } },
  ];
  const messages = [{ role: 'user', content: parts }];
  const image = { type: 'base64', media_type: 'image/png', data: pixel };
  const sent = (await bodyOf(anthropic, { messages })).messages[0].content;
  assert.deepEqual([sent[1].source, sent[2].source], [image, image]);
  assert.deepEqual(sent[3].source, { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' });
  const [{ parts: seen }] = (await bodyOf(google, { messages })).contents;
  assert.deepEqual(seen[1], { inlineData: { mimeType: 'image/png', data: pixel } });
  assert.deepEqual(seen[3], { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0x' } });
  const [{ content }] = (await bodyOf(bedrock, { messages })).messages;
  assert.deepEqual(content[1], { image: { format: 'png', source: { bytes: pixel } } });
  assert.equal(content[3].document.format, 'pdf');
  const recording = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } };
  const received = await bodyOf(google, { messages: [{ role: 'user', content: [recording] }] });
  assert.deepEqual(received.contents[0].parts[0].inlineData, { mimeType: 'audio/wav', data: 'UklGRg==' });
});

test('a URL is passed on to upstreams that fetch it, and is otherwise unsupported', async () => {
  const at = (url: string): object => ({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  });
  const sent = await bodyOf(anthropic, at('https://example.com/a'));
  assert.deepEqual(sent.messages[0].content[0].source, { type: 'url', url: 'https://example.com/a' });
  const seen = await bodyOf(google, at('https://example.com/a.png'));
  assert.deepEqual(seen.contents[0].parts[0].fileData, {
    mimeType: 'image/png',
    fileUri: 'https://example.com/a.png',
  });
  await assert.rejects(bodyOf(bedrock, at('https://example.com/a.png')), UnsupportedRequest);
  const files = 'https://generativelanguage.googleapis.com/v1beta/files/of-the-operator.png';
  await assert.rejects(bodyOf(google, at(files)), UnsupportedRequest, 'the operator’s own files');
  for (const url of [
    's3://bucket/a.png',
    'gs://bucket/a.png',
    'file:///etc/passwd',
    'data:image/png,x',
    'http://',
    '',
  ])
    for (const to of all) await assert.rejects(bodyOf(to, at(url)), UnsupportedRequest, url);
});

test('content that no dialect supports leaves no endpoint, and lowers no health', async () => {
  const world = await openWireWorld(bedrockWire);
  try {
    const { key } = await world.naru.account();
    const content = [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }];
    for (const stream of [false, true]) {
      const body = { model: wireModel, stream, messages: [{ role: 'user', content }] };
      const response = await world.naru.send('POST', '/chat/completions', { key, body });
      assert.equal(response.status, 404);
      assert.equal(response.json.error.metadata.error_type, 'no_endpoints_found');
    }
    const two = { model: wireModel, n: 2, messages: hi };
    assert.equal((await world.naru.send('POST', '/chat/completions', { key, body: two })).status, 404);
    assert.equal(world.upstream.requests.length, 0);
    world.upstream.next(reply.status(500));
    const body = { model: wireModel, messages: hi };
    assert.equal((await world.naru.send('POST', '/chat/completions', { key, body })).status, 502);
  } finally {
    await world.close();
  }
});

test('a text to continue is a user message; anything else is unsupported', async () => {
  for (const to of all) {
    const parsed = parseCompletionRequest(
      'text',
      Buffer.from(JSON.stringify({ model: 'a/b', prompt: 'Once upon' })),
      null,
    );
    const { request } = await to.dialect.encode(parsed, destination(to.model));
    assert.match(request.body, /Once upon/);
    for (const prompt of [
      ['a', 'b'],
      [1, 2, 3],
      [[1], [2]],
    ]) {
      const odd = parseCompletionRequest('text', Buffer.from(JSON.stringify({ model: 'a/b', prompt })), null);
      await assert.rejects(
        Promise.resolve(to.dialect.encode(odd, destination(to.model))),
        UnsupportedRequest,
      );
    }
    await assert.rejects(bodyOf(to, { messages: hi, tools: [{ type: 'web_search' }] }), UnsupportedRequest);
  }
});

test('a text to continue requests no dearer service, and no stop that the API rejects', async () => {
  const stated = { model: 'a/b', prompt: 'Once', stop: ['\n', 'END'], service_tier: 'priority' };
  const parsed = parseCompletionRequest('text', Buffer.from(JSON.stringify(stated)), null);
  for (const to of [...all, { dialect: openaiDialect, model: 'gpt-4o' }]) {
    const { request } = await to.dialect.encode(parsed, destination(to.model));
    assert.doesNotMatch(request.body, /priority/);
    assert.match(request.body, /END/);
    if (to === anthropic || to === bedrock) assert.doesNotMatch(request.body, /\\n/);
  }
});

// spec:compat/7.2
test('the parameters that are listed for a dialect are those that change what is sent', async () => {
  const tools = [tool('look')];
  const values: Readonly<Record<string, unknown>> = {
    ...{ max_tokens: 4000, max_completion_tokens: 4000, temperature: 0.5, top_p: 0.5, top_k: 5, seed: 7 },
    ...{ n: 1, stop: ['x'], presence_penalty: 0.5, frequency_penalty: 0.5, user: 'u', tools },
    ...{ tool_choice: 'required', parallel_tool_calls: false, cache_control: { type: 'ephemeral' } },
    ...{ response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } },
    ...{ structured_outputs: true, logit_bias: { 5: 1 }, min_p: 0.1, metadata: { a: 'b' } },
  };
  const wrong: string[] = [];
  // Gemini 2.5 alone lacks the penalties.
  for (const to of [anthropic, { ...google, model: 'gemini-3-flash' }, bedrock]) {
    const dialect = to.dialect.name as 'anthropic' | 'google' | 'bedrock';
    const by = { dialect, variant: 'generic', model: to.model, modelId: 'a/b', price: {} } as const;
    const listed = acceptedParameters(by);
    for (const [name, value] of Object.entries(values)) {
      const others = { messages: hi, ...(name.includes('tool_') ? { tools } : {}) };
      const [without, with_] = [await bodyOf(to, others), await bodyOf(to, { ...others, [name]: value })];
      const isSent = JSON.stringify(without) !== JSON.stringify(with_);
      if (listed.includes(name) !== isSent) wrong.push(`${dialect}: ${name}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('a schema is required of the response', async () => {
  const request = {
    messages: hi,
    response_format: { type: 'json_schema', json_schema: { name: 'weather', schema, strict: true } },
  };
  const sent = await bodyOf(anthropic, request);
  assert.equal(sent.output_config.format.type, 'json_schema');
  assert.deepEqual(sent.output_config.format.schema.required, ['celsius']);
  const { generationConfig } = await bodyOf(google, request);
  assert.equal(generationConfig.responseMimeType, 'application/json');
  assert.deepEqual(generationConfig.responseJsonSchema.required, ['celsius']);
  const { toolConfig } = await bodyOf(bedrock, request);
  assert.deepEqual(toolConfig.tools[0].toolSpec.inputSchema.json.required, ['celsius']);
  const plain = await bodyOf(google, { messages: hi, response_format: { type: 'json_object' } });
  assert.equal(plain.generationConfig.responseMimeType, 'application/json');
});

test('tools are offered, and chosen as the client requests', async () => {
  const choices: readonly (readonly [unknown, unknown, unknown, unknown])[] = [
    ['auto', { type: 'auto' }, { mode: 'AUTO' }, { auto: {} }],
    ['required', { type: 'any' }, { mode: 'ANY' }, { any: {} }],
    [
      { type: 'function', function: { name: 'look' } },
      { type: 'tool', name: 'look' },
      { mode: 'ANY', allowedFunctionNames: ['look'] },
      { tool: { name: 'look' } },
    ],
  ];
  for (const [tool_choice, ofAnthropic, ofGoogle, ofBedrock] of choices) {
    const request = { messages: hi, tools: [tool('look'), tool('listen')], tool_choice };
    const sent = await bodyOf(anthropic, request);
    assert.deepEqual(sent.tool_choice, ofAnthropic);
    assert.deepEqual(
      sent.tools.map(({ name }: { name: string }) => name),
      ['look', 'listen'],
    );
    const { tools, toolConfig } = await bodyOf(google, request);
    assert.deepEqual(toolConfig.functionCallingConfig, ofGoogle);
    assert.equal(tools[0].functionDeclarations[0].description, 'does look');
    assert.deepEqual((await bodyOf(bedrock, request)).toolConfig.toolChoice, ofBedrock);
  }
  const none = { messages: hi, tools: [tool('look')], tool_choice: 'none' };
  assert.deepEqual((await bodyOf(anthropic, none)).tool_choice, { type: 'none' });
  assert.equal((await bodyOf(google, none)).toolConfig.functionCallingConfig.mode, 'NONE');
  const single = { messages: hi, tools: [tool('look')], parallel_tool_calls: false };
  assert.equal((await bodyOf(anthropic, single)).tool_choice.disable_parallel_tool_use, true);
});

test('a schema of parameters that is not named an object becomes one', async () => {
  for (const parameters of [{}, null, { type: ['object', 'null'] }, { type: null, anyOf: [] }]) {
    const request = { messages: hi, tools: [{ type: 'function', function: { name: 'look', parameters } }] };
    assert.equal((await bodyOf(anthropic, request)).tools[0].input_schema.type, 'object');
    const { toolSpec } = (await bodyOf(bedrock, request)).toolConfig.tools[0];
    assert.equal(toolSpec.inputSchema.json.type, 'object');
  }
});

test('cache breakpoints keep their positions', async () => {
  const cache_control = { type: 'ephemeral', ttl: '5m' };
  const request = {
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Long.', cache_control }] },
      {
        role: 'user',
        content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }, text('b')],
      },
      { role: 'user', content: 'c', cache_control },
    ],
    tools: [tool('look', { cache_control })],
  };
  const sent = await bodyOf(anthropic, request);
  assert.deepEqual(sent.system[0].cache_control, cache_control);
  const [{ content }] = sent.messages;
  assert.deepEqual(
    content.map((part: { cache_control?: unknown }) => part.cache_control),
    [{ type: 'ephemeral' }, undefined, cache_control],
  );
  assert.deepEqual(sent.tools[0].cache_control, cache_control);
  const automatic = await bodyOf(anthropic, { messages: hi, cache_control });
  assert.deepEqual(automatic.cache_control, cache_control);
  const converse = await bodyOf(bedrock, request);
  assert.deepEqual(converse.system[1], { cachePoint: { type: 'default', ttl: '5m' } });
  assert.deepEqual(converse.messages[0].content[1], { cachePoint: { type: 'default' } });
  await bodyOf(google, request);
  await bodyOf(anthropic, {
    messages: [{ role: 'user', content: [{ ...text('a'), cache_control: { type: 'x' } }] }],
  });
});

// spec:money/4.14
test('a service above the ordinary price is not requested, and the record notes it', async () => {
  const cache_control = { type: 'ephemeral', ttl: '1h' };
  const request = {
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Long.', cache_control }] },
      { role: 'user', content: 'c', cache_control },
    ],
    tools: [tool('look', { cache_control })],
    cache_control,
    service_tier: 'priority',
  };
  for (const to of all) {
    assert.doesNotMatch(JSON.stringify(await bodyOf(to, request)), /1h|priority/);
    const noted = (await changesOf(to, request)).map(({ parameter, change }) => `${parameter} ${change}`);
    assert.ok(noted.includes('service_tier dropped') && noted.includes('cache_control changed'), `${noted}`);
  }
  const openai = { dialect: openaiDialect, model: 'gpt-4o' };
  assert.equal((await bodyOf(openai, { messages: hi, service_tier: 'flex' })).service_tier, 'flex');
  assert.equal((await bodyOf(openai, { messages: hi, service_tier: 'priority' })).service_tier, undefined);
  // Of two dearer services only the one with a price is requested.
  const rates = { prompt: one, completion: one, cacheRead: one, cacheWrite: one };
  const priority = { price: { tiers: { priority: rates } } };
  const hour = { price: { cacheWrite1h: one } };
  for (const to of [...all, openai]) {
    const asks = /"priority"|"service_tier":"auto"/;
    assert.equal(asks.test(JSON.stringify(await bodyOf(to, request, priority))), to !== google);
    assert.doesNotMatch(JSON.stringify(await bodyOf(to, request, priority)), /1h/);
    assert.doesNotMatch(JSON.stringify(await bodyOf(to, request, hour)), /priority/);
  }
  assert.match(JSON.stringify(await bodyOf(anthropic, request, hour)), /"ttl":"1h"/);
});

test('sampling parameters are sent as requested, as far as the API has them', async () => {
  const request = {
    messages: hi,
    temperature: 0.5,
    top_k: 7,
    stop: ['END'],
    seed: 3,
    max_completion_tokens: 99,
    min_p: 0.1,
    logit_bias: { 1: 2 },
    user: 'end-user-1',
  };
  const sent = await bodyOf(anthropic, request);
  assert.deepEqual(
    [sent.temperature, sent.top_k, sent.stop_sequences, sent.max_tokens, sent.metadata],
    [0.5, 7, ['END'], 99, { user_id: 'end-user-1' }],
  );
  const { generationConfig: sampling } = await bodyOf(google, { ...request, stop: 'END', top_p: 0.9 });
  assert.deepEqual(sampling, {
    maxOutputTokens: 99,
    temperature: 0.5,
    topK: 7,
    topP: 0.9,
    stopSequences: ['END'],
    seed: 3,
  });
  const { inferenceConfig } = await bodyOf(bedrock, request);
  assert.deepEqual([inferenceConfig.maxTokens, inferenceConfig.stopSequences], [99, ['END']]);
});

test('content that the candidate does not support is not sent; its maximum completion applies', async () => {
  const to = { supportedParameters: new Set(['temperature']), maxCompletionTokens: 4321 };
  const request = {
    messages: hi,
    temperature: 0.5,
    top_k: 7,
    tools: [tool('look')],
    reasoning: { effort: 'high' },
  };
  const sent = await bodyOf(anthropic, request, to);
  assert.deepEqual(
    [sent.temperature, sent.top_k, sent.tools, sent.thinking, sent.max_tokens],
    [0.5, undefined, undefined, undefined, 4321],
  );
});

test("reasoning is requested in each API's format", async () => {
  const budget = { messages: hi, reasoning: { max_tokens: 2048 } };
  assert.deepEqual((await bodyOf(anthropic, budget)).thinking, { type: 'enabled', budget_tokens: 2048 });
  assert.deepEqual((await bodyOf(google, budget)).generationConfig.thinkingConfig, {
    thinkingBudget: 2048,
    includeThoughts: true,
  });
  const { additionalModelRequestFields } = await bodyOf(bedrock, budget);
  assert.deepEqual(additionalModelRequestFields.thinking, { type: 'enabled', budget_tokens: 2048 });
  for (const parameters of [
    { reasoning: { enabled: false } },
    { reasoning: { effort: 'none' } },
    { reasoning_effort: 'none' },
  ]) {
    const { generationConfig } = await bodyOf(google, { messages: hi, ...parameters });
    assert.deepEqual(generationConfig.thinkingConfig, { thinkingBudget: 0, includeThoughts: false });
  }
  assert.equal((await bodyOf(anthropic, { messages: hi })).thinking, undefined);
});

test("other APIs' reasoning options are accepted", async () => {
  const budget = { messages: hi, thinking: { type: 'enabled', budget_tokens: 2048 } };
  assert.deepEqual((await bodyOf(anthropic, budget)).thinking, { type: 'enabled', budget_tokens: 2048 });
  assert.equal((await bodyOf(google, budget)).generationConfig.thinkingConfig.thinkingBudget, 2048);
  for (const parameters of [{ enable_thinking: false }, { thinking: { type: 'disabled' } }]) {
    const { generationConfig } = await bodyOf(google, { messages: hi, ...parameters });
    assert.deepEqual(generationConfig.thinkingConfig, { thinkingBudget: 0, includeThoughts: false });
  }
});

test('parameters that were not sent are noted, whether the package, the API or the model lacks them', async () => {
  const request = {
    messages: hi,
    temperature: 0.5,
    top_k: 7,
    seed: 3,
    presence_penalty: 0.5,
    min_p: 0.1,
    logit_bias: { 1: 2 },
    stop: 'END',
    enable_thinking: false,
    chat_template_kwargs: {},
  };
  const dropped = async (api: { readonly dialect: Dialect; readonly model: string }, more: object = {}) => {
    const changes = await changesOf(api, { ...request, ...more });
    assert.ok(changes.every(({ change }) => change === 'dropped'));
    return changes.map(({ parameter }) => parameter).sort();
  };
  const unknown = ['chat_template_kwargs', 'logit_bias', 'min_p'];
  assert.deepEqual(await dropped(google), [...unknown, 'presence_penalty'], 'which Gemini 2.5 has none of');
  assert.deepEqual(await dropped(anthropic), [...unknown, 'presence_penalty', 'seed']);
  assert.deepEqual(await dropped(bedrock), [...unknown, 'presence_penalty', 'seed']);
  const thinking = { thinking: { type: 'enabled', budget_tokens: 2048 }, enable_thinking: true };
  assert.deepEqual(
    (await dropped(anthropic, thinking)).filter((name) => !unknown.includes(name)),
    ['presence_penalty', 'seed', 'temperature', 'top_k'],
    'a model that thinks does not let its sampling be changed',
  );
});

/** What the dialect notes of a request. */
async function changesOf(
  { dialect, model }: { readonly dialect: Dialect; readonly model: string },
  request: object,
): Promise<UpstreamCodec['changes']> {
  const parsed = parseCompletionRequest(
    'chat',
    Buffer.from(JSON.stringify({ model: 'a/b', ...request })),
    null,
  );
  return (await dialect.encode(parsed, destination(model))).changes;
}

/** What the dialect would send. */
async function bodyOf(
  { dialect, model }: { readonly dialect: Dialect; readonly model: string },
  stated: object,
  to: Partial<Destination> = {},
  // biome-ignore lint/suspicious/noExplicitAny: three formats at once
): Promise<any> {
  const parsed = parseCompletionRequest(
    'chat',
    Buffer.from(JSON.stringify({ model: 'a/b', ...stated })),
    null,
  );
  const { request } = await dialect.encode(parsed, { ...destination(model), ...to });
  return JSON.parse(request.body);
}

function destination(model: string): Destination {
  return {
    model,
    modelId: model,
    variant: 'generic',
    overrides: {},
    supportedParameters: null,
    maxCompletionTokens: null,
    price: {},
  };
}

function text(message: string): object {
  return { type: 'text', text: message };
}

function call(id: string, args: string): object {
  return { id, type: 'function', function: { name: 'look', arguments: args } };
}
