/** Completion bodies are parsed by hand; the API document must state exactly what is accepted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { Refusal } from '../../src/errors/catalogue.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { notOffered, parametersOf } from '../../src/wire/parameters.ts';
import { chatRequestShape, textRequestShape } from '../../src/wire/shapes/requests.ts';

const endpoints = [
  {
    kind: 'chat',
    shape: chatRequestShape,
    // With the types that a `tool_choice` among the values has.
    body: {
      model: 'a/b',
      messages: [{ role: 'user', content: 'hi' }],
      tools: ['x', 'text', 'json_schema'].map((type) => ({ type })),
    },
    others: ['model', 'models', 'messages', 'stream', 'session_id', 'provider', 'route', ...notOffered],
  },
  {
    kind: 'text',
    shape: textRequestShape,
    body: { model: 'a/b', prompt: 'hi' },
    others: ['model', 'models', 'prompt', 'stream', 'session_id', 'provider', 'route'],
  },
] as const;

/** Values that some members accept and others reject, with those at the bounds. */
const values: readonly unknown[] = [
  ...[null, true, false, '', 'x', 'none', 'high', 'xhigh', 'max', 'medium', 'sort', [], {}, { a: 1 }],
  ...[
    0,
    -0,
    1,
    -1,
    2,
    2.1,
    -2,
    -2.1,
    0.5,
    1.01,
    1.5,
    20,
    21,
    128,
    129,
    2 ** 53 - 1,
    2 ** 53,
    -(2 ** 53),
    1e300,
  ],
  ...[['x'], ['x', 1], [1], [1.5], [-1], [[1]], [[1], 'x'], [[1], [2]], [[]], [[1.5]], [null], [{}]],
  ...['x'.repeat(500), 'x'.repeat(501), ['x'.repeat(500)], ['x', 'x'.repeat(501)]],
  ...[[{ role: 'user' }], [{ role: '' }], [{ role: 1 }], [{ role: 'x' }], [{ content: 'x' }]],
  ...[undefined, null, 7, '', 'c'].map((id) => [{ role: 'tool', tool_call_id: id }]),
  ...[undefined, 7, '', 'x', 'text', 'json_schema'].map((type) => ({ type })),
  ...[undefined, 7, '', 'x', 'low'].map((effort) => ({ effort })),
  ...[undefined, null, 7, {}, { name: 7 }, { name: '' }, { name: 'f' }].flatMap((declared) => [
    { type: 'function', function: declared },
    { type: 'custom', custom: declared },
    [{ type: 'function', function: declared }],
    [{ type: 'web_search', function: declared }],
  ]),
  ...[null, 'x', 1, {}, [], [1], [{}], [{ type: 'text' }], [{ type: 1 }]].map((content) => [
    { role: 'user', content },
  ]),
];

/** The parsed body, or null when it is rejected. */
function parsed(kind: 'chat' | 'text', body: object): { readonly ignored: readonly string[] } | null {
  try {
    return parseCompletionRequest(kind, Buffer.from(JSON.stringify(body)), null);
  } catch (thrown) {
    assert.ok(thrown instanceof Refusal && thrown.failure === 'invalid_request', String(thrown));
    return null;
  }
}

for (const { kind, shape, body, others } of endpoints) {
  test(`the documented members of a ${kind} completion are those that are read`, () => {
    assert.deepEqual(
      Object.keys(shape.shape).toSorted(),
      [...new Set([...Object.keys(parametersOf[kind]), ...others])].toSorted(),
    );
    assert.deepEqual(parsed(kind, body)?.ignored, []);
    assert.deepEqual(z.toJSONSchema(shape, { io: 'input' }).required, [
      kind === 'chat' ? 'messages' : 'prompt',
    ]);
    assert.deepEqual(parsed(kind, { ...body, unheard_of: 1 })?.ignored, ['unheard_of']);
  });

  test(`a ${kind} completion accepts exactly the values that its document states`, () => {
    let accepted = 0;
    let rejected = 0;
    for (const [name, member] of Object.entries(shape.shape) as [string, z.ZodType][]) {
      for (const value of values) {
        const documented = member.safeParse(JSON.parse(JSON.stringify(value))).success;
        const isRead = parsed(kind, { ...body, [name]: value }) !== null;
        // Without a model or an input there is no request, whatever the value.
        if (name === 'model' && (value === null || value === '')) continue;
        assert.equal(isRead, documented, `${name}: ${JSON.stringify(value)}`);
        if (isRead) accepted += 1;
        else rejected += 1;
      }
    }
    assert.ok(accepted > 200 && rejected > 400, `${accepted} accepted, ${rejected} rejected`);
  });
}
