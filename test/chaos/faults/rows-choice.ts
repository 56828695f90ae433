/** Choices and tool calls out of order. */
import assert from 'node:assert/strict';
import type { TestResponse } from '../../harness/gateway.ts';
import { eventsOf } from '../../harness/stream.ts';
import { both, broken, type Fault, type FaultClass, responds, streamed, words } from './fault.ts';
import {
  contentChunk,
  deep,
  delta,
  done,
  either,
  event,
  replies,
  payload as response,
  role,
  stop,
  streams,
  used,
} from './payloads.ts';
import type { Act } from './wire.ts';

const indexed = (index: unknown): Act =>
  either(
    replies(JSON.stringify(response()).replace('"index":0', `"index":${index}`)),
    streams(
      ...[role, contentChunk(), stop].map((each) => each.replaceAll('"index":0', `"index":${index}`)),
      used() + done,
    ),
  );
const call = (members: object): string => delta({ tool_calls: [members] });
const calls = delta({}, 'tool_calls') + used() + done;

export const choices: FaultClass = {
  name: 'choices and tool calls',
  faults: [
    ...['null', '-1', '1e15', '1e999', '"0"', '0.5', '2147483648'].map(
      (index): Fault => ({
        name: `index ${index}`,
        act: indexed(index),
        ...both(responds()),
        look: (seen, stream) => {
          const found =
            seen.status !== 200
              ? []
              : chunksOf(seen, stream).flatMap((chunk) =>
                  chunk.choices.map((choice: { index: number }) => choice.index),
                );
          assert.ok(
            found.every((each) => each === 0),
            `indexes ${found}`,
          );
        },
      }),
    ),
    {
      name: 'two choices, the second first',
      request: { n: 2 },
      act: either(
        replies(
          JSON.stringify(
            response(words, {
              choices: [
                { index: 1, message: { content: 'other' }, finish_reason: 'stop' },
                { index: 0, message: { content: words }, finish_reason: 'stop' },
              ],
            }),
          ),
        ),
        streams(
          event({ choices: [{ index: 1, delta: { content: 'other' } }] }),
          event({ choices: [{ index: 0, delta: { content: words }, finish_reason: 'stop' }] }),
          event({ choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] }),
          used() + done,
        ),
      ),
      ...both(responds('*')),
      look: (seen, stream) => {
        if (seen.headers.get('x-service-provider') === 'good') return;
        const texts = ['', ''];
        for (const chunk of chunksOf(seen, stream))
          for (const choice of chunk.choices)
            texts[choice.index] += (choice.delta ?? choice.message).content ?? '';
        assert.deepEqual(texts, [words, 'other']);
      },
    },
    {
      name: 'no index',
      act: either(
        replies(JSON.stringify(response()).replace('"index":0,', '')),
        streams(
          ...[role, contentChunk(), stop].map((each) => each.replaceAll('"index":0,', '')),
          used() + done,
        ),
      ),
      ...both(responds()),
    },
    {
      name: 'a tool call without an id',
      act: streams(
        role,
        call({ index: 0, function: { name: 'weather', arguments: '' } }),
        call({ index: 0, function: { arguments: '{"city":' } }),
        call({ index: 0, function: { arguments: '"서울"}' } }),
        calls,
      ),
      ...both(responds('')),
      look: (seen, stream) => oneCall(seen, stream, [['weather', '{"city":"서울"}']]),
    },
    {
      name: 'two tool calls without ids or indexes, each at once',
      act: streams(
        role,
        call({ function: { name: 'a', arguments: '{}' } }),
        call({ function: { name: 'b', arguments: '{"x":1}' } }),
        calls,
      ),
      ...both(responds('')),
      look: (seen, stream) =>
        oneCall(seen, stream, [
          ['a', '{}'],
          ['b', '{"x":1}'],
        ]),
    },
    {
      name: 'two tool calls of one index, with ids',
      act: streams(
        role,
        call({ index: 0, id: 'x', function: { name: 'a', arguments: '{}' } }),
        call({ index: 0, id: 'y', function: { name: 'b', arguments: '{}' } }),
        calls,
      ),
      ...both(responds('')),
      look: (seen, stream) =>
        oneCall(seen, stream, [
          ['a', '{}'],
          ['b', '{}'],
        ]),
    },
    {
      name: 'a tool call whose id and name come again each time',
      act: streams(
        role,
        call({ index: 0, id: 'x', function: { name: 'a', arguments: '{"x"' } }),
        call({ index: 0, id: 'x', function: { name: 'a', arguments: ':1}' } }),
        calls,
      ),
      ...both(responds('')),
      look: (seen, stream) => oneCall(seen, stream, [['a', '{"x":1}']]),
    },
    {
      name: 'a tool call whose name comes after its start, and again',
      act: streams(
        role,
        call({ index: 0, id: 'x', type: 'function', function: { name: '', arguments: '' } }),
        call({ index: 0, function: { name: 'a', arguments: '{"x"' } }),
        call({ index: 0, function: { name: 'a', arguments: ':1}' } }),
        calls,
      ),
      ...both(responds('')),
      look: (seen, stream) => oneCall(seen, stream, [['a', '{"x":1}']]),
    },
    {
      name: 'arguments as an object',
      act: streams(role, call({ index: 0, id: 'x', function: { name: 'a', arguments: { x: [1] } } }), calls),
      ...both(responds('')),
      look: (seen, stream) => oneCall(seen, stream, [['a', '{"x":[1]}']]),
    },
    {
      name: 'arguments cut inside a surrogate pair',
      act: streams(
        role,
        call({ index: 0, id: 'x', function: { name: 'a', arguments: '{"x":"\ud83d' } }),
        call({ index: 0, function: { arguments: '\udef6"}' } }),
        calls,
      ),
      ...both(responds('')),
      look: (seen, stream) => oneCall(seen, stream, [['a', '{"x":"🛶"}']]),
    },
    {
      name: 'arguments as an object nested 50,000 deep',
      act: streams(
        role,
        contentChunk(),
        `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":${deep(50_000)}}}]}}]}\n\n`,
        calls,
      ),
      ...streamed(broken()),
    },
    {
      name: 'whole tool calls without ids, all of index 0',
      act: either(
        replies(
          JSON.stringify(
            response(null, {
              choices: [
                {
                  message: {
                    content: null,
                    tool_calls: [
                      { index: 0, function: { name: 'a', arguments: '{}' } },
                      { index: 0, function: { name: 'b' } },
                    ],
                  },
                  finish_reason: 'tool_calls',
                },
              ],
            }),
          ),
        ),
        streams(
          role,
          delta({
            tool_calls: [
              { index: 0, function: { name: 'a', arguments: '{}' } },
              { index: 1, function: { name: 'b', arguments: '{}' } },
            ],
          }),
          calls,
        ),
      ),
      ...both(responds('')),
      look: (seen, stream) =>
        oneCall(seen, stream, [
          ['a', '{}'],
          ['b', '{}'],
        ]),
    },
    {
      name: 'tool calls that are none',
      act: either(
        replies(JSON.stringify(response()).replace('"role"', '"tool_calls":[null,1,"x"],"role"')),
        streams(role, delta({ content: words, tool_calls: [null, 1] }), stop + used() + done),
      ),
      ...both(responds()),
    },
    {
      name: 'content that is a list',
      act: either(
        replies(
          JSON.stringify(response()).replace(
            JSON.stringify(words),
            `[{"type":"text","text":${JSON.stringify(words)}}]`,
          ),
        ),
        streams(role, delta({ content: [{ type: 'text', text: words }] }), stop + used() + done),
      ),
      ...both(responds()),
    },
  ],
};

// biome-ignore lint/suspicious/noExplicitAny: a test reads responses as a client would.
function chunksOf(seen: TestResponse, stream: boolean): readonly any[] {
  return stream ? eventsOf(seen.text).flatMap(({ json }) => (json === null ? [] : [json])) : [seen.json];
}

/** Fails unless a client that aggregates by index gets these calls, each with its own id. */
function oneCall(
  seen: TestResponse,
  stream: boolean,
  expected: readonly (readonly [name: string, args: string])[],
): void {
  if (seen.headers.get('x-service-provider') === 'good') return;
  const folded = new Map<number, { id: string; name: string; args: string }>();
  for (const chunk of chunksOf(seen, stream)) {
    const output = chunk.choices[0]?.delta ?? chunk.choices[0]?.message;
    for (const each of output?.tool_calls ?? []) {
      const known = folded.get(each.index);
      if (known === undefined) {
        assert.ok(typeof each.id === 'string' && each.id !== '', 'a call begins without an id');
        assert.equal(each.type, 'function');
        folded.set(each.index, {
          id: each.id,
          name: each.function.name ?? '',
          args: each.function.arguments ?? '',
        });
      } else {
        // Some clients add a name that comes again.
        known.name += each.function.name ?? '';
        known.args += each.function.arguments ?? '';
      }
    }
  }
  assert.deepEqual(
    [...folded.values()].map(({ name, args }) => [name, args]),
    expected,
  );
  assert.equal(new Set([...folded.values()].map(({ id }) => id)).size, expected.length, 'ids are the same');
}
