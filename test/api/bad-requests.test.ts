/** Requests to a model whose body is invalid: rejected before any candidate is tried. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveEcho } from '../harness/echo.ts';
import type { TestAccount, TestGateway, TestResponse } from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';

const messages = [{ role: 'user', content: 'hi' }];
let naru: TestGateway;
let account: TestAccount;

serveEcho('1000000', (echo) => {
  ({ naru, account } = echo);
});

const chat = (body: object): Promise<TestResponse> =>
  naru.send('POST', '/chat/completions', { key: account.key, body: { messages, ...body } });

// spec:conformance/213
test('a body that is not a JSON object is rejected', async () => {
  for (const path of ['/chat/completions', '/completions'])
    for (const body of [
      '[]',
      '"x"',
      '1',
      'null',
      '{bad',
      '',
      'undefined',
      '{"model":"test/echo"',
      '\ufeff',
      'NaN',
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    ])
      assertError(await naru.send('POST', path, { key: account.key, body }), 400, 'invalid_request');
});

// spec:conformance/214,215,216
test('invalid messages are rejected', async () => {
  const { key } = account;
  const refused = async (body: object): Promise<void> =>
    void assertError(await naru.send('POST', '/chat/completions', { key, body }), 400, 'invalid_request');
  await refused({ model: 'test/echo' });
  for (const bad of [
    {},
    'x',
    [],
    [1],
    [null],
    [[]],
    null,
    [{ content: 'x' }],
    [{ role: '' }],
    [{ role: 1 }],
    [{ role: 'user', content: 1 }],
    [{ role: 'user', content: [1] }],
    [{ role: 'user', content: [{}] }],
    [{ role: 'user', content: {} }],
  ])
    await refused({ model: 'test/echo', messages: bad });
  await refused({ model: 'test/echo', messages: [...messages, { content: 'no role' }] });
});

// spec:conformance/217
test('an invalid prompt is rejected', async () => {
  for (const prompt of [
    undefined,
    null,
    {},
    [],
    [{}],
    [[]],
    [1.5],
    [-1],
    ['x', 1],
    [[1], 'x'],
    [1, [1]],
    true,
  ])
    assertError(
      await naru.send('POST', '/completions', { key: account.key, body: { model: 'test/echo', prompt } }),
      400,
      'invalid_request',
    );
});

test('a parameter with an invalid value is rejected and named', async () => {
  for (const [name, value] of Object.entries({
    temperature: 3,
    top_p: -1,
    max_tokens: 0,
    n: 0,
    stream: 'yes',
    stop: [1],
    tools: {},
    logit_bias: [],
    user: 1,
    seed: 1.5,
    top_logprobs: 21,
    provider: [],
    models: 'x',
    session_id: 5,
    model: 7,
  })) {
    const response = await chat({ model: 'test/echo', [name]: value });
    assertError(response, 400, 'invalid_request');
    assert.ok(response.json.error.message.includes(`\`${name}`), response.json.error.message);
  }
  assertError(await chat({}), 400, 'invalid_request');
  assertError(await chat({ models: [] }), 400, 'invalid_request');
});

const chatWith = (members: object): object => ({ model: 'test/echo', messages, ...members });
const talk = (message: object): object => chatWith({ messages: [...messages, message] });
const called = { type: 'function', function: { name: 'f' } };

// spec:api/12.9
test('an unknown or incomplete word inside a message or parameter is rejected and named by its path', async () => {
  const bad: readonly (readonly [path: string, body: object])[] = [
    ['messages[1].role', talk({ role: 'admin', content: 'x' })],
    ['messages[1].role', talk({ role: 'User', content: 'x' })],
    ['messages[1].role', talk({ role: 'constructor', content: 'x' })],
    ['messages[1].tool_call_id', talk({ role: 'tool', content: 'x' })],
    ['messages[1].tool_call_id', talk({ role: 'tool', content: 'x', tool_call_id: null })],
    ['messages[1].tool_call_id', talk({ role: 'tool', content: 'x', tool_call_id: 7 })],
    ['tools[1]', chatWith({ tools: [called, 'f'] })],
    ['tools[0].type', chatWith({ tools: [{}] })],
    ['tools[0].type', chatWith({ tools: [{ function: { name: 'f' } }] })],
    ['tools[0].function', chatWith({ tools: [{ type: 'function', name: 'f' }] })],
    ['tools[0].function.name', chatWith({ tools: [{ type: 'function', function: {} }] })],
    ['tools[1].function.name', chatWith({ tools: [called, { type: 'function', function: { name: '' } }] })],
    ['tools[0].function.name', chatWith({ tools: [{ type: 'function', function: { name: 7 } }] })],
    ['tool_choice', chatWith({ tool_choice: 'any' })],
    ['tool_choice', chatWith({ tool_choice: {} })],
    ['tool_choice', chatWith({ tools: [called], tool_choice: { type: 'function', name: 'f' } })],
    ['tool_choice', chatWith({ tools: [called], tool_choice: { type: 'function', function: {} } })],
    ['tool_choice', chatWith({ tools: [called], tool_choice: { type: 'allowed_tools' } })],
    ['tool_choice.type', chatWith({ tools: [called], tool_choice: { type: 'zzz' } })],
    ['response_format.type', chatWith({ response_format: { type: 'xml' } })],
    ['reasoning.effort', chatWith({ reasoning: { effort: 'hard' } })],
    ['reasoning_effort', chatWith({ reasoning_effort: 'hard' })],
  ];
  for (const [path, body] of bad) {
    const response = await chat(body);
    assertError(response, 400, 'invalid_request');
    assert.ok(response.json.error.message.includes(`\`${path}\``), `${path}: ${response.text}`);
  }
});

// spec:api/11.9 spec:errors/1.7
test('a model id of up to 500 characters is repeated whole, and a longer one is rejected', async () => {
  const [longest, longer] = ['a/'.padEnd(500, 'b'), 'a/'.padEnd(501, 'b')];
  for (const body of [{ model: longest }, { models: ['test/echo', longest] }])
    assert.equal(assertError(await chat(body), 400, 'model_not_found')['model'], longest);
  for (const [body, name] of [
    [{ model: longer }, '`model`'],
    [{ models: ['test/echo', longer] }, '`models[1]`'],
  ] as const) {
    const response = await chat(body);
    assertError(response, 400, 'invalid_request');
    assert.ok(response.json.error.message.includes(name), response.json.error.message);
  }
});
