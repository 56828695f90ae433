import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChunkAggregator } from '../../src/inference/aggregate-chunks.ts';
import type { ChunkChoice, Delta, ResponseChunk } from '../../src/wire/chat.ts';

function chunkOf(delta: Delta, logprobs: object | null = null): ResponseChunk {
  return {
    choices: [{ index: 0, delta, finish_reason: null, native_finish_reason: null, logprobs }],
    usage: null,
    upstreamId: null,
    systemFingerprint: null,
    serviceTier: null,
  };
}

function aggregated(chunks: readonly ResponseChunk[]): ChunkChoice {
  const aggregator = new ChunkAggregator();
  for (const chunk of chunks) aggregator.take(chunk);
  const [choice] = aggregator.whole(null).choices;
  assert.ok(choice !== undefined);
  return choice;
}

const text = (piece: string, index = 0, more: object = {}) => ({
  type: 'reasoning.text',
  text: piece,
  format: 'unknown',
  index,
  ...more,
});

test('lists are continued, other members replaced, and the chunks stay as they are', () => {
  const first = chunkOf(
    { annotations: [1], reasoning_details: [text('a')] },
    JSON.parse('{"content":[1],"refusal":null,"note":"a","__proto__":[1]}'),
  );
  const before = JSON.stringify(first);
  const choice = aggregated([
    first,
    chunkOf(
      { annotations: [2, 3], reasoning_details: [text('b')] },
      JSON.parse('{"content":[2,3],"refusal":[4],"note":"b","__proto__":[2]}'),
    ),
    chunkOf(
      { reasoning_details: [text('c', 0, { signature: 's' }), text('d', 1), { type: 'other', index: 1 }] },
      { content: null },
    ),
    chunkOf({ reasoning_details: [{ type: 'other', index: 1 }, text('e', 1)] }, { content: [5] }),
  ]);
  assert.equal(JSON.stringify(choice.logprobs), '{"content":[5],"refusal":[4],"note":"b","__proto__":[1,2]}');
  assert.deepEqual(choice.delta.annotations, [1, 2, 3]);
  assert.deepEqual(choice.delta.reasoning_details, [
    text('abc', 0, { signature: 's' }),
    text('d', 1),
    { type: 'other', index: 1 },
    { type: 'other', index: 1 },
    text('e', 1),
  ]);
  assert.equal(JSON.stringify(first), before);
});

test('a tool call has the first name that it is given, in whichever chunk', () => {
  const part = (name: string | null, args: string, id?: string) =>
    chunkOf({
      tool_calls: [
        {
          index: 0,
          ...(id === undefined ? {} : { id }),
          function: { ...(name === null ? {} : { name }), arguments: args },
        },
      ],
    });
  const { delta } = aggregated([part(null, '', 'a'), part('f', '{"x"'), part('f', ':1'), part(null, '}')]);
  assert.deepEqual(delta.tool_calls, [
    { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
  ]);
});

/** Copying what came before with each chunk would take minutes. */
const manyChunks = 200_000;

for (const [name, chunk, size] of [
  ['log probabilities', () => chunkOf({}, { content: [1] }), ({ logprobs }) => members(logprobs, 'content')],
  ['annotations', () => chunkOf({ annotations: ['x'] }), ({ delta }) => delta.annotations?.length],
  [
    'reasoning entries',
    (n) => chunkOf({ reasoning_details: [text('x', n)] }),
    ({ delta }) => delta.reasoning_details?.length,
  ],
  [
    'reasoning text',
    () => chunkOf({ reasoning_details: [text('x'.repeat(20))] }),
    ({ delta }) => members((delta.reasoning_details ?? [])[0], 'text') / 20,
  ],
  [
    'members of log probabilities',
    (n) => chunkOf({}, { [`m${n}`]: n }),
    ({ logprobs }) => Object.keys(logprobs ?? {}).length,
  ],
] as const satisfies readonly (readonly [
  string,
  (n: number) => ResponseChunk,
  (choice: ChunkChoice) => number | undefined,
])[]) {
  test(`the work to aggregate ${name} is linear in the number of chunks`, () => {
    const choice = aggregated(Array.from({ length: manyChunks }, (_, n) => chunk(n)));
    assert.equal(size(choice), manyChunks);
  });
}

/** The length of a list or text that is a member of an object. */
function members(of: unknown, name: string): number {
  return (of as Readonly<Record<string, { readonly length: number }>>)[name]?.length ?? 0;
}
