import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, constantFrom, oneof, property, string, tuple } from 'fast-check';
import { ChunkReader } from '../../src/dialects/openai/chunk-reader.ts';
import { readEvent } from '../../src/dialects/openai/read.ts';
import type { ChunkChoice, Delta } from '../../src/wire/chat.ts';
import { ChunkWriter } from '../../src/wire/response.ts';
import { check } from '../harness/property.ts';

/** Events around a literal, as upstreams write them, and some that no upstream should. */
const frames: readonly ((literal: string) => string)[] = [
  (literal) =>
    `{"id":"a","model":"m","choices":[{"index":0,"delta":{"content":${literal}},"logprobs":null,"finish_reason":null}]}`,
  (literal) => `{"choices": [{"delta": {"role": "assistant", "content": ${literal}}}], "service_tier": "x"}`,
  (literal) => `{"choices":[{"index":1,"delta":{"content":${literal}},"logprobs":{"content":"x"}}]}`,
  (literal) => `{"note":${literal},"choices":[{"delta":{"content":"fixed"}}]}`,
  (literal) => `{"content":${literal},"choices":[{"delta":{"content":"fixed"}}]}`,
  (literal) => `{"x\\"content":${literal},"choices":[{"delta":{"content":"fixed"}}]}`,
  (literal) => `{"choices":[{"delta":{"content":${literal},"\\u0063ontent":"later"}}]}`,
  (literal) => `{"choices":[{"delta":{"content":${literal}},"finish_reason":"stop"}]}`,
  (literal) => `{"choices":[{"delta":{"content":${literal},"reasoning":"r"}}]}`,
  (literal) => `{"choices":[{"delta":{"content":${literal}}}],"usage":{"prompt_tokens":1}}`,
  (literal) => `{"choices":[{"delta":{"content":${literal}}},{"index":1,"delta":{"content":${literal}}}]}`,
  (literal) => `{"choices":[{"delta":{"content":${literal}}}],"error":null}`,
];

/** JSON strings, and texts that break out of one or are none. */
const literal = oneof(
  string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
  constantFrom(
    ...['"', '"a', 'a"', '"a\\"', '"a\\\\"', '"\\u0041"', '"\\ud800"', '"\u0001"', '"\n"', 'null', '1'],
    ...['["a"]', '"a","b":"c"', '"a"},"finish_reason":"stop","x":{"y":"z"', '"a"}},{"delta":{"content":"b"'],
    '""',
  ),
);

test('an event is read as if it were the only one, whatever came before it', () => {
  const event = tuple(constantFrom(...frames), literal).map(([frame, text]) => frame(text));
  check(
    property(array(event, { maxLength: 12 }), constantFrom('chat', 'text'), (events, kind) => {
      const reader = new ChunkReader(kind);
      for (const data of [...events, ...events, '[DONE]'])
        assert.deepEqual(reader.read(data), readEvent(kind, data), data);
    }),
  );
});

test('an event with text alone has the bytes of its object', () => {
  const envelope = { kind: 'chat', id: 'gen-1', created: 1, model: 'm"content":""', provider: 'p' } as const;
  const fingerprints = constantFrom(null, '","content":""', 'fp');
  const deltas = oneof(
    string({ unit: 'grapheme' }).map((content): Delta => ({ content })),
    constantFrom<Delta>({}, { content: 'a', reasoning: 'b' }, { refusal: 'no' }, { content: '' }),
  );
  const choices = tuple(constantFrom(0, 1), deltas, constantFrom(null, 'stop' as const)).map(
    ([index, delta, reason]): ChunkChoice => ({
      index,
      delta,
      finish_reason: reason,
      native_finish_reason: reason,
      logprobs: null,
    }),
  );
  check(
    property(
      array(array(choices, { minLength: 1, maxLength: 2 }), { maxLength: 4 }),
      fingerprints,
      (stream, systemFingerprint) => {
        const writer = new ChunkWriter(envelope, {
          systemFingerprint,
          serviceTier: null,
          hidesReasoning: false,
          readsFunctionCalls: false,
        });
        const begun = new Set<number>();
        for (const given of stream) {
          const chunk = {
            choices: given,
            usage: null,
            upstreamId: null,
            systemFingerprint: null,
            serviceTier: null,
          };
          const written = given.map(({ delta, index, ...rest }) => {
            const isFirst = !begun.has(index);
            begun.add(index);
            return {
              index,
              delta: {
                ...(isFirst ? { role: 'assistant' } : {}),
                ...delta,
                ...(delta.reasoning === undefined ? {} : { reasoning_content: delta.reasoning }),
              },
              finish_reason: rest.finish_reason,
              native_finish_reason: rest.native_finish_reason,
              logprobs: null,
            };
          });
          const { kind: _, id, created, model, provider } = envelope;
          const object = {
            ...{ id, object: 'chat.completion.chunk', created, model, provider, choices: written },
            ...(systemFingerprint === null ? {} : { system_fingerprint: systemFingerprint }),
          };
          assert.equal(writer.chunk(chunk), `data: ${JSON.stringify(object)}\n\n`);
        }
      },
    ),
  );
});

test('what upstreams put elsewhere than the API has it is read', () => {
  const deltaOf = (choice: object): unknown => {
    const event = readEvent('chat', JSON.stringify({ choices: [choice] }));
    return event.kind === 'chunk' ? event.chunk.choices[0]?.delta : event;
  };
  for (const choice of [
    { message: { content: 'a' } },
    { delta: {}, message: { content: 'a' } },
    { delta: null, text: 'a' },
    { delta: { content: 'a' }, message: { content: 'b' }, text: 'c' },
  ])
    assert.deepEqual(deltaOf(choice), { content: 'a' }, JSON.stringify(choice));
  const called = { name: 'f', arguments: '{}' };
  assert.deepEqual(deltaOf({ delta: { function_call: called } }), {
    tool_calls: [{ index: 0, type: 'function', function: called }],
  });
});

test('cached tokens and reasoning under the names of the newer API of OpenAI are counted', () => {
  const usage = {
    input_tokens_details: { cached_tokens: 9 },
    output_tokens_details: { reasoning_tokens: 4 },
  };
  const event = readEvent('chat', JSON.stringify({ choices: [], usage }));
  assert.ok(event.kind === 'chunk');
  const { cacheReadTokens, reasoningTokens } = event.chunk.usage ?? {};
  assert.deepEqual([cacheReadTokens, reasoningTokens], [9, 4]);
});

test('a reason that engines give for a cut answer is no stop', () => {
  const reasons = { time_limit: 'length', repetition: 'length', preempted: 'error', ENGINE_ERROR: 'error' };
  for (const [finish_reason, reason] of Object.entries(reasons)) {
    const event = readEvent('chat', JSON.stringify({ choices: [{ delta: {}, finish_reason }] }));
    assert.ok(event.kind === 'chunk');
    assert.equal(event.chunk.choices[0]?.finish_reason, reason, finish_reason);
  }
});

test('no reason is written in three ways', () => {
  for (const finish_reason of [null, '', 'null']) {
    const event = readEvent(
      'chat',
      JSON.stringify({ choices: [{ delta: { content: 'a' }, finish_reason }] }),
    );
    assert.ok(event.kind === 'chunk');
    assert.equal(event.chunk.choices[0]?.native_finish_reason, null, `${finish_reason}`);
  }
});
