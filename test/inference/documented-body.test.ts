/** Completion bodies are parsed by hand; the API document must state exactly what is accepted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { Refusal } from '../../src/errors/catalogue.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { maxima, messageLists } from '../../src/wire/maxima.ts';
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

const fill = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);
const text = (length: number): string => 'x'.repeat(length);
const mapOf = (count: number): object => Object.fromEntries(fill(count, 0).map((_, n) => [`m${n}`, n]));
const message = (member: object): object => ({ messages: [{ role: 'user', ...member }] });
/** A body whose list or text has a length, and the greatest that is accepted. */
const bounded: readonly (readonly [string, number, (length: number) => object])[] = [
  ['model', maxima.name, (length) => ({ model: text(length) })],
  ['models', maxima.models, (length) => ({ models: fill(length, 'a') })],
  ['models', maxima.name, (length) => ({ models: [text(length)] })],
  ['user', maxima.id, (length) => ({ user: text(length) })],
  ['session_id', maxima.id, (length) => ({ session_id: text(length) })],
  ['stop', maxima.stops, (length) => ({ stop: fill(length, 'a') })],
  ['stop', maxima.id, (length) => ({ stop: [text(length)] })],
  ['stop', maxima.id, (length) => ({ stop: text(length) })],
  ['logit_bias', maxima.logitBias, (length) => ({ logit_bias: mapOf(length) })],
  ...['order', 'only', 'ignore', 'quantizations'].flatMap((name) => [
    [
      `provider.${name}`,
      maxima.providers,
      (length: number) => ({ provider: { [name]: fill(length, 'fp8') } }),
    ] as const,
  ]),
  ...['order', 'only', 'ignore'].map(
    (name) =>
      [
        `provider.${name}`,
        maxima.name,
        (length: number) => ({ provider: { [name]: [text(length)] } }),
      ] as const,
  ),
];
const boundedByKind: Readonly<Record<'chat' | 'text', typeof bounded>> = {
  chat: [
    ...bounded,
    ['messages', maxima.messages, (length) => ({ messages: fill(length, { role: 'user' }) })],
    ['messages[0].content', maxima.parts, (length) => message({ content: fill(length, { type: 'text' }) })],
    [
      'tools',
      maxima.tools,
      (length) => ({ tools: fill(length, { type: 'function', function: { name: 'f' } }) }),
    ],
    ['modalities', maxima.modalities, (length) => ({ modalities: fill(length, 'text') })],
    ['metadata', maxima.metadata, (length) => ({ metadata: mapOf(length) })],
    ['prompt_cache_key', maxima.id, (length) => ({ prompt_cache_key: text(length) })],
    ['service_tier', maxima.name, (length) => ({ service_tier: text(length) })],
  ],
  text: [
    ...bounded,
    ['prompt', maxima.prompts, (length) => ({ prompt: fill(length, 'a') })],
    ['prompt', maxima.prompts, (length) => ({ prompt: fill(length, [1]) })],
    ['prompt', maxima.tokens, (length) => ({ prompt: fill(length, 1) })],
  ],
};

// security:16
for (const { kind, shape, body } of endpoints)
  test(`a ${kind} completion is refused beyond the documented maximum of each list and text, by its name`, () => {
    for (const [name, max, make] of boundedByKind[kind])
      for (const length of [max, max + 1]) {
        const stated = { ...body, ...make(length) };
        const isDocumented = shape.safeParse(stated).success;
        assert.equal(isDocumented, length === max, `${name}: ${length} in the document`);
        const refusal = refusalOf(kind, stated);
        assert.equal(refusal === null, length === max, `${name}: ${length}: ${refusal}`);
        if (refusal !== null)
          assert.ok(refusal.includes(`\`${name}`) && refusal.includes(String(max)), refusal);
      }
  });

test('a message is refused beyond the maximum of each of its lists', () => {
  for (const [name, max] of messageLists) {
    const body = (length: number): object => message({ [name]: fill(length, { type: 'text' }) });
    assert.equal(refusalOf('chat', { model: 'a/b', ...body(max) }), null, name);
    assert.match(
      refusalOf('chat', { model: 'a/b', ...body(max + 1) }) ?? '',
      new RegExp(`\`messages\\[0\\]\\.${name}\` must have ${max} items or fewer`),
    );
  }
});

/** The message of the refusal; null when the body is accepted. */
function refusalOf(kind: 'chat' | 'text', body: object): string | null {
  try {
    parseCompletionRequest(kind, Buffer.from(JSON.stringify(body)), null);
    return null;
  } catch (thrown) {
    assert.ok(thrown instanceof Refusal && thrown.failure === 'invalid_request', String(thrown));
    return thrown.message;
  }
}
